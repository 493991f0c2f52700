package expression

import (
	"slices"
	"strings"
	"unicode"
)

// PathPlain is path.plain: whether p names an ordinary file, as far as its text tells: one that nothing runs, and that no program and
// no agent takes for its settings or its orders. What is written to any other may act later, with more rights, and unasked: a
// hook of git, the start-up file of a shell, a list of MCP servers. It is false for names that systems read differently.
//
// Source code is plain: to write it is what agents are for, and a build that runs it is a step of its own.
func PathPlain(p string) bool {
	if p == "" || strings.IndexFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
		return false
	}
	rooted := strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\`)
	if hasDrive(p) {
		p, rooted = p[2:], true
	}
	names := strings.FieldsFunc(strings.ToLower(p), func(r rune) bool { return r == '/' || r == '\\' })
	for i, name := range names {
		switch {
		case name == "." && i == 0:
		case name[0] == '.' || strings.HasSuffix(name, ".") || name != strings.TrimSpace(name) || strings.ContainsAny(name, `:*?"<>|%$~`) && name != "~":
			return false
		case runningFolders[name] || rooted && i == 0 && systemFolders[name]:
			return false
		}
	}
	if len(names) == 0 {
		return false
	}
	name := names[len(names)-1]
	return name != "~" && name != "." && !actingNames[name] && !slices.Contains(actingExtensions, PathExt(name))
}

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// In lower case:
var (
	// systemFolders are folders below the root that belong to the system.
	systemFolders = setOf("bin boot dev etc lib lib32 lib64 opt proc run sbin sys usr var " +
		"applications library system private windows programdata")

	// runningFolders are folders of what is run, loaded or started, wherever they are.
	runningFolders = setOf("bin sbin node_modules site-packages dist-packages __pycache__ autostart startup launchagents launchdaemons " +
		"cron.d cron.daily cron.hourly cron.weekly cron.monthly init.d systemd")

	// actingNames are files that tools and agents obey by their names alone.
	actingNames = setOf("makefile gnumakefile bsdmakefile justfile rakefile gemfile vagrantfile jenkinsfile procfile tiltfile earthfile " +
		"dockerfile containerfile compose.yaml compose.yml docker-compose.yaml docker-compose.yml " +
		"package.json package-lock.json pnpm-workspace.yaml deno.json tsconfig.json pyproject.toml setup.py setup.cfg conftest.py sitecustomize.py " +
		"usercustomize.py tox.ini noxfile.py pipfile requirements.txt build.rs cargo.toml go.mod go.work pom.xml build.xml cmakelists.txt " +
		"meson.build build.bazel workspace module.bazel flake.nix default.nix shell.nix azure-pipelines.yml bitbucket-pipelines.yml " +
		"agents.md claude.md gemini.md copilot-instructions.md skill.md llms.txt mcp.json claude_desktop_config.json settings.json tasks.json " +
		"launch.json weir.yaml weir.lock overlays.yaml policy.yaml " +
		"authorized_keys known_hosts hosts sudoers crontab passwd shadow profile bashrc zshrc vimrc gitconfig")

	// actingExtensions are those of files that are run, loaded or read as settings of what is run.
	actingExtensions = strings.Fields(".sh .bash .zsh .fish .ksh .csh .command .ps1 .psm1 .psd1 .bat .cmd .com .exe .dll .so .dylib .msi .scr .cpl " +
		".vbs .vbe .jse .wsf .wsh .hta .lnk .url .webloc .reg .inf .desktop .service .timer .socket .path .plist .workflow .scpt .applescript .app " +
		".jar .pth .mk .mak .cmake .gradle .targets .props .csproj .vcxproj .sln .code-workspace .mdc .rules .rc")
)
