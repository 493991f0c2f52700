package expression

import (
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/pattern"
)

// PathNoSecrets is path.noSecrets: whether p names a file that holds no credentials, as far as its text tells: one of a
// kind that people write to be read by others (texts, tables, documents, pictures, source code, and the well-known
// files of builds), whose name and folders do not speak of secrets.
//
// It is false for every other file: settings (.env, .npmrc, config.yaml, appsettings.json, terraform.tfstate), keys,
// histories, files without extension that are not well known, all files in a hidden folder or in one of the system, and
// paths that programs read differently.
func PathNoSecrets(p string) bool {
	if home, ok := strings.CutPrefix(p, "~"); ok && home != "" && (home[0] == '/' || home[0] == '\\') {
		p = home
	}
	names, rooted, ok := pathNames(p)
	if !ok {
		return false
	}
	folders, name := names[:len(names)-1], names[len(names)-1]
	for i, folder := range folders {
		if folder[0] == '.' && !openFolders()[folder] || storeFolders()[folder] || rooted && i == 0 && secretRoots()[folder] {
			return false
		}
	}
	stem, ext, _ := strings.Cut(name, ".")
	ext = ext[strings.LastIndexByte(ext, '.')+1:]
	kind := kinds()[ext]
	switch {
	case buildFiles()[name]:
		return true
	case bareTexts()[name]:
		return true
	case openFolders()[folderOf(folders)] && (ext == "yml" || ext == "yaml"):
		return true
	case stem == "dockerfile" || stem == "containerfile":
		return !speaksOfSecrets(name, secretWords())
	case stem == "" || kind == noKind:
		return false
	case kind == source:
		return !speaksOfSecrets(name, sourceSecretWords()) && !(scripts()[ext] && speaksOfSecrets(name, settingWords()))
	}
	return !slices.ContainsFunc(append(folders, name), func(n string) bool { return speaksOfSecrets(n, secretWords()) }) &&
		!slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(strings.Join(names, "/"), part) })
}

// folderOf returns the first hidden folder on the way, or the empty text.
func folderOf(folders []string) string {
	if i := slices.IndexFunc(folders, func(f string) bool { return f[0] == '.' }); i >= 0 {
		return folders[i]
	}
	return ""
}

func speaksOfSecrets(name string, words map[string]bool) bool {
	return anyOf(wordsOf(name), words)
}

// In lower case:
var (
	// openFolders are the hidden folders whose files are published with the source.
	openFolders = pattern.Words(".github .gitlab .circleci")

	// storeFolders are folders in which programs and people keep credentials.
	storeFolders = pattern.Words("appdata library application\u00a0support application\u00a0data keychains keyrings credentials credential secrets secret private " +
		"certs cert certificates ssl pki keys wallet wallets vault vaults cookies user\u00a0data firefox chrome passwords gnupg ssh aws kube")

	// secretRoots are folders below the root that tell of the system and its users.
	secretRoots = pattern.Words("proc sys dev etc run var private boot windows programdata recovery")

	// secretWords are words in names of texts and documents that may hold credentials; secretParts are parts of words.
	secretWords = pattern.Words("secret secrets token tokens key keys pin pins seed seeds mnemonic wallet login logins auth cred creds pw pwd pass " +
		"otp totp mfa env dotenv vault pem pgp gpg ssh cert history cookie cookies session sessions recovery emergency bitwarden keepass lastpass onepassword")
	secretParts = []string{"secret", "credential", "password", "passwd", "passphrase", "passwort", "kennwort", "contraseña", "apikey", "api_key", "api-key", "api key",
		"accesskey", "access_key", "access-key", "rootkey", "root_key", "privatekey", "private_key", "private-key", "keystore", "keyring", "keychain", "kubeconfig",
		"backup-code", "backup_code", "backup code", "backupcode", "htpasswd", "dotenv", "serviceaccount", "service-account", "service_account"}

	// sourceSecretWords are words in names of source files that hold secrets, settingWords those of settings, which
	// scripts are.
	sourceSecretWords = pattern.Words("secret secrets credential credentials creds password passwords passwd apikey apikeys dotenv")
	settingWords      = pattern.Words("env environment keys settings config local")
	scripts           = pattern.Words("py rb js cjs mjs ts")

	// buildFiles are the well-known files of builds and tools, which are published with the source.
	buildFiles = pattern.Words("package.json package-lock.json npm-shrinkwrap.json pnpm-lock.yaml pnpm-workspace.yaml yarn.lock bun.lock deno.json deno.lock jsr.json " +
		"tsconfig.json tsconfig.base.json tsconfig.build.json tsconfig.node.json tsconfig.app.json jsconfig.json lerna.json nx.json turbo.json angular.json " +
		"biome.json renovate.json components.json tslint.json jest.config.js jest.config.ts vite.config.js vite.config.ts vitest.config.ts webpack.config.js " +
		"rollup.config.js rollup.config.mjs babel.config.js babel.config.json eslint.config.js eslint.config.mjs eslint.config.ts next.config.js next.config.mjs " +
		"next.config.ts tailwind.config.js tailwind.config.ts postcss.config.js postcss.config.mjs playwright.config.ts svelte.config.js prettier.config.js " +
		"composer.json composer.lock go.mod go.sum go.work go.work.sum cargo.toml cargo.lock rust-toolchain rust-toolchain.toml rustfmt.toml clippy.toml " +
		"pyproject.toml poetry.lock uv.lock pdm.lock pipfile pipfile.lock setup.py setup.cfg tox.ini pytest.ini mypy.ini conftest.py noxfile.py manifest.in " +
		"environment.yml gemfile gemfile.lock rakefile makefile gnumakefile justfile cmakelists.txt meson.build configure.ac build.bazel module.bazel workspace.bazel " +
		"pom.xml build.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradlew gradlew.bat mvnw mvnw.cmd build.sbt mix.exs mix.lock " +
		"package.swift package.resolved podfile podfile.lock pubspec.yaml pubspec.lock flake.nix flake.lock shell.nix default.nix directory.build.props " +
		"global.json dockerfile containerfile procfile mkdocs.yml mkdocs.yaml codecov.yml openapi.yaml openapi.yml openapi.json swagger.json swagger.yaml " +
		"codeowners security.md .gitignore .gitattributes .gitmodules .dockerignore .editorconfig .npmignore .nvmrc .node-version .python-version .ruby-version " +
		".tool-versions .eslintrc .eslintrc.json .eslintrc.js .eslintignore .prettierrc .prettierrc.json .prettierignore .golangci.yml .golangci.yaml " +
		".pre-commit-config.yaml .clang-format .clang-tidy .rustfmt.toml .gitlab-ci.yml .travis.yml .mailmap .browserslistrc .stylelintrc .swiftlint.yml .rubocop.yml")
)
