package expression

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/weir-mcp/weir/internal/pattern"
)

// pathNames returns the names on the way of a path, in lower case, and whether the path is absolute. It is not ok where
// systems, programs or readers could take the text for different files: relative ways up, shares and devices of
// Windows, alternate streams, short names, drive-relative paths, URLs, percent-encoding, variables, patterns, trailing
// dots and blanks, letters that file systems fold to others, characters that nobody sees.
func pathNames(p string) (names []string, rooted, ok bool) {
	if p == "" || len(p) > 4096 || !utf8.ValidString(p) || !plainLetters(p) {
		return nil, false, false
	}
	if hasDrive(p) {
		if len(p) < 3 || p[2] != '/' && p[2] != '\\' {
			return nil, false, false
		}
		p, rooted = p[2:], true
	}
	p = strings.ReplaceAll(p, `\`, "/")
	p, slashed := strings.CutPrefix(p, "/")
	rooted = rooted || slashed
	names = strings.Split(strings.ToLower(p), "/")
	if names[0] == "." && !rooted && len(names) > 1 {
		names = names[1:]
	}
	for _, name := range names {
		if !plainName(name) {
			return nil, false, false
		}
	}
	return names, rooted, true
}

// plainName reports whether every system takes the name for the same file.
func plainName(name string) bool {
	if name == "" || len(name) > 255 || name == "." || name == ".." {
		return false
	}
	if strings.HasSuffix(name, ".") || strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") || strings.ContainsAny(name, ":") {
		return false
	}
	stem, _, _ := strings.Cut(name, ".")
	return !devices()[strings.TrimSpace(stem)]
}

// plainLetters reports whether no character of the path means something to a shell, an expander or a file system, and
// none becomes another one where a file system folds case or normalizes.
func plainLetters(p string) bool {
	for i, r := range p {
		switch {
		case r < 0x80:
			if r < ' ' || r == 0x7f || strings.ContainsRune("%$~*?\"<>|^`{};", r) || r == ':' && i != 1 {
				return false
			}
		case !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r):
			return false
		case hasASCII(norm.NFKC.String(string(r))) || unicode.ToLower(r) < 0x80 || unicode.ToUpper(r) < 0x80 || hasASCII(norm.NFKC.String(strings.ToLower(string(r)))):
			return false
		}
	}
	return true
}

func hasASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < 0x80 }) >= 0
}

// PathPlain is path.plain: whether p names an ordinary file, by its text: a file of a kind that nothing runs, and that
// no program and no agent takes for its settings or its orders, without a further act of a person. A write to any other
// file may take effect later, with more rights, and without an approval: a hook of git, the start-up file of a shell, a
// list of MCP servers.
//
// Kinds are allowed by list: texts, tables, documents, pictures, sound, source code. Every other extension is not
// plain, nor is a file without one. Of the allowed kinds, files are not plain that tools find by name (conftest.py,
// requirements.txt, CLAUDE.local.md, vite.config.ts), nor those in hidden folders, in folders of the system, or in
// folders of files that are run, started, served or loaded.
//
// Source code is plain: agents exist to write it, and a build or a test that runs it is a step of its own.
func PathPlain(p string) bool {
	names, rooted, ok := pathNames(p)
	if !ok {
		return false
	}
	folders, name := names[:len(names)-1], names[len(names)-1]
	for i, folder := range folders {
		if folder[0] == '.' || actingFolders()[folder] || rooted && i == 0 && systemFolders()[folder] {
			return false
		}
	}
	if bareTexts()[name] {
		return true
	}
	parts := strings.Split(name, ".")
	last := len(parts) - 1
	if last < 1 || parts[0] == "" {
		return false
	}
	kind := kinds()[parts[last]]
	if !plainMiddle(parts[1:last], kind) {
		return false
	}
	switch kind {
	case text:
		for _, folder := range folders {
			if obeyedFolders()[folder] || anyOf(wordsOf(folder), obeyedFolderWords()) || parts[last] == "txt" && listWords()[folder] {
				return false
			}
		}
		return !obeyed(parts[0], parts[last])
	case data:
		return true
	case source:
		return !loadedNames()[parts[0]] && !loadedNames()[name]
	}
	return false
}

func anyOf(names []string, set map[string]bool) bool {
	return slices.ContainsFunc(names, func(name string) bool { return set[name] })
}

// plainMiddle reports whether the parts of a name between its stem and its extension are such as mean nothing to a
// tool.
func plainMiddle(parts []string, kind fileKind) bool {
	for _, part := range parts {
		switch {
		case part == "":
			return false
		case strings.Trim(part, "0123456789-_ ") == "": // dates and versions
		case kind == source && middles()[part]:
		default:
			return false
		}
	}
	return true
}

// obeyed reports whether agents or tools follow a text by such a name: AGENTS, copilot-instructions, requirements-dev.
func obeyed(stem, ext string) bool {
	if obeyedStems()[stem] {
		return true
	}
	words := wordsOf(stem)
	return anyOf(words, obeyedWords()) || ext == "txt" && anyOf(words, listWords())
}

// wordsOf returns the words of a name in lower case.
func wordsOf(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}

// A fileKind is the kind of a file with some extension.
type fileKind uint8

// The kinds.
const (
	noKind fileKind = iota
	text            // people read it, and so do agents
	data            // tables, documents, pictures, sound: nothing in them is run
	source          // source code
)

func kindsOf(lists map[fileKind]string) func() map[string]fileKind {
	return sync.OnceValue(func() map[string]fileKind {
		all := map[string]fileKind{}
		for kind, words := range lists {
			for _, w := range strings.Fields(words) {
				all[w] = kind
			}
		}
		return all
	})
}

// In lower case:
var (
	kinds = kindsOf(map[fileKind]string{
		text: "txt md markdown rst adoc asciidoc org tex log",
		// Office documents without macros; of tables those that are nothing but values.
		data: "csv tsv jsonl ndjson parquet arrow geojson bib srt vtt ics vcf eml diff patch " +
			"pdf docx xlsx pptx odt ods odp epub " +
			"png jpg jpeg gif webp bmp tif tiff avif heic ico svg mp3 wav m4a ogg flac mp4 mov webm mkv avi",
		// Languages of which a program is built or imported. Not those whose files act by lying somewhere: php, shell,
		// and other scripts, configuration in a language (lua, nix, tf).
		source: "go rs c h cc cpp cxx hpp hh m mm java kt scala swift cs fs hs ml mli ex erl clj dart zig py pyi rb js jsx ts tsx mjs cjs mts cts " +
			"vue svelte astro css scss sass less html htm sql proto graphql thrift r jl f90 vb asm",
	})

	// bareTexts are the texts without an extension that people look for by name.
	bareTexts = pattern.Words("readme license licence copying notice authors contributors changelog changes news todo")

	// devices are names that Windows takes for devices, with any extension and in any folder.
	devices = pattern.Words("con prn aux nul conin$ conout$ com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 " +
		"lpt6 lpt7 lpt8 lpt9")

	// systemFolders are folders below the root that belong to the system.
	systemFolders = pattern.Words("bin boot dev etc lib lib32 lib64 libx32 opt proc run sbin snap nix srv sys usr var cores net " +
		"applications library system private windows programdata recovery perflogs")

	// actingFolders are folders of files that are run, loaded, served or started, wherever they are.
	actingFolders = pattern.Words("bin sbin libexec node_modules bower_components site-packages dist-packages vendor venv env virtualenv __pycache__ __pypackages__ " +
		"autostart startup xlstart addins launchagents launchdaemons loginitems startupitems appdata library start\u00a0menu program\u00a0files " +
		"program\u00a0files\u00a0(x86) application\u00a0support application\u00a0scripts " +
		"cron cron.d cron.daily cron.hourly cron.weekly cron.monthly crontabs init.d rc.d profile.d conf.d sudoers.d systemd udev " +
		"sites-enabled sites-available conf-enabled docker-entrypoint-initdb.d initdb.d migrations migrate cgi-bin htdocs public_html wwwroot webroot www " +
		"githooks git-hooks husky plugins plugin extensions autoload mu-plugins initializers editor patches migration magefiles site_scons " +
		"callback_plugins filter_plugins action_plugins lookup_plugins inventory_plugins custom_components python_scripts")

	// obeyedFolders are folders of texts that agents take for orders.
	obeyedFolders = pattern.Words("agents subagents skills commands prompts rules instructions chatmodes steering memories memory workflows hooks")

	// obeyedFolderWords are words in the names of such folders: memory-bank, agent-os, my-skills.
	obeyedFolderWords = pattern.Words("agent agents subagents skill skills memory memories rules prompts steering claude cursor copilot gemini " +
		"llm llms mcp")

	// obeyedWords are words in the names of texts that agents take for orders, and obeyedStems such names as a whole.
	obeyedWords = pattern.Words("agents agent claude gemini copilot cursor cursorrules windsurf windsurfrules cline clinerules roo roorules kiro aider codex opencode " +
		"crush qwen junie openclaw clawd amazonq grok codebuff codebuddy kilocode kilo iflow qoder firebender openhands microagents tabnine hermes agentic rules skill skills instruction instructions prompt prompts persona chatmode subagent subagents llm llms mcp weir")
	obeyedStems = pattern.Words("soul heartbeat identity bootstrap tools user memory memories rules rule steering conventions guidelines context " +
		"goose replit bolt lovable devin amp trae augment zed jules warp forge droid knowledge best_practices best-practices repo constitution " +
		"projectbrief productcontext activecontext systempatterns techcontext progress")

	// listWords are words in the names of .txt files that tools take for lists of things to fetch, build, load or
	// serve.
	listWords = pattern.Words("conanfile requirements requirement constraints cmakelists packages package dependencies runtime apt pip conda robots ads manifest modules " +
		"autoexec startup crontab hosts config settings preload")

	// loadedNames are source files that tools and interpreters load by name: stems, and names where only one extension
	// counts.
	loadedNames = pattern.Words("conftest setup sitecustomize usercustomize noxfile fabfile taskfile wscript sconstruct ipython_config jupyter_config " +
		"jupyter_notebook_config jupyter_server_config gunicorn gunicorn_conf celeryconfig magefile gulpfile gruntfile jakefile brunch-config " +
		"ember-cli-build webpackfile pnpmfile karma protractor wdio package-scripts postinstall preinstall rakefile gemfile guardfile capfile " +
		"vagrantfile podfile fastfile brewfile dangerfile steepfile extconf autoload autoexec startup " +
		"build.rs build.zig build.py dodo.py tasks.py package.swift package.js schedule.rb puma.rb unicorn.rb project.scala profile.py finish.m " +
		"conf.py toxfile.py conanfile.py hatch_build.py pavement.py duties.py locustfile.py pelicanconf.py publishconf.py usersetup.py " +
		"deploy.rb build.jl make.jl activate.r project.clj profiles.clj user.clj build.clj build.dart custom.js wallaby.js testem.js knexfile.js knexfile.ts " +
		"plopfile.js plopfile.ts plopfile.mjs truffle.js truffle-config.js config-overrides.js workbox-config.js gatsby-config.js gatsby-config.ts " +
		"gatsby-node.js gatsby-node.ts gatsby-browser.js gatsby-ssr.js ecosystem.js")

	// middles are the parts of a name before its extension that state the purpose of a source file.
	middles = pattern.Words("test tests spec d min module stories story component service directive pipe guard resolver interceptor controller entity dto model " +
		"models repository types type util utils helper helpers constants mock mocks fixture fixtures e2e int unit integration styles style page view " +
		"layout schema query queries api ios android native web gen generated pb grpc")
)
