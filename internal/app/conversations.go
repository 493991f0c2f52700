package app

import (
	"fmt"
	"path/filepath"

	"github.com/weir-mcp/weir/internal/config"
	"github.com/weir-mcp/weir/internal/gateway/agentsession"
	"github.com/weir-mcp/weir/internal/home"
	"github.com/weir-mcp/weir/internal/remedy"
)

// localOf returns the conversations of a host on stdio, as far as this process knows them. State in memory belongs to this
// process alone, so that no conversation in it can begin anew.
func localOf(env *home.Env, s *Service) (agentsession.Local, error) {
	folder, err := env.WorkDir()
	if err == nil {
		folder, err = RealFolder(folder)
	}
	l := agentsession.Local{Named: s.Session, Folder: folder, Getenv: env.Getenv}
	if s.Config.Store != config.MemoryStore {
		l.Book = env.Conversations()
	}
	return l, err
}

// RealFolder returns the absolute path of a folder, with links followed.
func RealFolder(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", remedy.Usage(fmt.Errorf("finding the folder of the conversations: %w", err), "run weir in a folder that exists")
	}
	return abs, nil
}
