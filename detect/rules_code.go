package detect

const gitlabTokens = "https://docs.gitlab.com/security/tokens/#token-prefixes"

// codeRules are of forges, package registries and continuous integration.
func codeRules() []Rule {
	const github = "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats"
	return append(gitlabRules(),
		checked("github-token", "GitHub token", `gh[pours]_[A-Za-z0-9]{36}`, crcOf(4), github),
		prefixed("github-fine-grained-token", "GitHub fine-grained token", `github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}`, github),
		checked("npm-token", "npm access token", `npm_[A-Za-z0-9]{36}`, crcOf(4),
			"https://github.blog/security/announcing-npms-new-access-token-format/"),
		checked("pypi-token", "PyPI or TestPyPI API token", `pypi-AgE[A-Za-z0-9_-]{50,}`, macaroon, "https://pypi.org/help/#apitoken"),
		prefixed("rubygems-key", "RubyGems API key", `rubygems_[a-f0-9]{48}`, "https://guides.rubygems.org/api-key-scopes/"),
		prefixed("nuget-key", "NuGet API key", `oy2[a-z0-9]{43}`, "https://learn.microsoft.com/en-us/nuget/nuget-org/publish-a-package"),
		prefixed("clojars-token", "Clojars deploy token", `CLOJARS_[a-z0-9]{60}`, "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens"),
		prefixed("packagist-token", "Private Packagist token", `packagist_(?:ort|out|uut|ack|acs)_[a-f0-9]{68}`,
			"https://packagist.com/docs/composer-authentication"),
		prefixed("crates-token", "crates.io API token", `cio[A-Za-z0-9]{32}`, "https://doc.rust-lang.org/cargo/reference/publishing.html"),
		prefixed("atlassian-token", "Atlassian API token", `ATATT3[A-Za-z0-9_=-]{180,220}`,
			"https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/"),
		prefixed("bitbucket-app-password", "Bitbucket app password", `ATBB[A-Za-z0-9]{24}[A-F0-9]{8}`,
			"https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/"),
		prefixed("bitbucket-access-token", "Bitbucket access token", `ATCTT3[A-Za-z0-9_=-]{150,220}`,
			"https://support.atlassian.com/bitbucket-cloud/docs/access-tokens/"),
		prefixed("buildkite-token", "Buildkite token", `bk(?:ua|aa|aj|ct|at)_[A-Za-z0-9]{40,80}`,
			"https://buildkite.com/docs/platform/security/tokens"),
		prefixed("circleci-token", "CircleCI API token", `CCI(?:PAT|PRJ)_[A-HJ-NP-Za-km-z1-9]{21,22}_[a-f0-9]{40}`,
			"https://circleci.com/changelog/new-format-for-api-access-tokens/"),
		prefixed("sonar-token", "SonarQube token", `sq[upa]_[a-f0-9]{40}`,
			"https://docs.sonarsource.com/sonarqube-server/latest/user-guide/managing-tokens/"),
		prefixed("artifactory-api-key", "JFrog Artifactory API key", `AKCp[A-Za-z0-9]{69}`,
			"https://jfrog.com/help/r/jfrog-platform-administration-documentation/user-profile"),
		prefixed("octopus-key", "Octopus Deploy API key", `API-[A-Z0-9]{26}`,
			"https://octopus.com/docs/octopus-rest-api/how-to-create-an-api-key").saying(Medium),
		prefixed("postman-key", "Postman API key", `PMAK-[a-f0-9]{24}-[a-f0-9]{34}`,
			"https://learning.postman.com/docs/developer/postman-api/authentication/"),
		prefixed("sourcegraph-token", "Sourcegraph access token", `sgp_(?:[a-fA-F0-9]{16}_|local_)?[a-fA-F0-9]{40}`,
			"https://sourcegraph.com/docs/cli/how-tos/creating_an_access_token"),
		prefixed("harness-token", "Harness token", `(?:pat|sat)\.[a-zA-Z0-9_-]{22}\.[a-f0-9]{24}\.[a-zA-Z0-9]{20}`,
			"https://developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys/"),
		prefixed("infracost-key", "Infracost API key", `ico-[a-zA-Z0-9]{32}`, "https://www.infracost.io/docs/integrations/environment_variables/"),
		prefixed("prefect-key", "Prefect API key", `pn[ub]_[a-zA-Z0-9]{36}`, "https://docs.prefect.io/v3/how-to-guides/cloud/manage-users/api-keys"),
		prefixed("snyk-token", "Snyk personal access token", `snyk_[us]at\.[a-z0-9]{8}\.[A-Za-z0-9_-]{40,200}\.[A-Za-z0-9_-]{20,60}`,
			"https://docs.snyk.io/snyk-api/authentication-for-api"),
	)
}

// gitlabRules are of GitLab, which has a prefix for each kind of token.
func gitlabRules() []Rule {
	return []Rule{
		prefixed("gitlab-personal-token", "GitLab personal, project or group access token", `glpat-[A-Za-z0-9_-]{20,300}`, gitlabTokens),
		prefixed("gitlab-routable-token", "GitLab routable access token", `glpat-[A-Za-z0-9_-]{27,300}\.[0-9a-z]{2}\.?[0-9a-z]{7}`, gitlabTokens),
		prefixed("gitlab-oauth-secret", "GitLab OAuth application secret", `gloas-[A-Za-z0-9_-]{64}`, gitlabTokens),
		prefixed("gitlab-deploy-token", "GitLab deploy token", `gldt-[A-Za-z0-9_-]{20,300}`, gitlabTokens),
		prefixed("gitlab-runner-token", "GitLab runner token", `glrt-[A-Za-z0-9_-]{20,300}`, gitlabTokens),
		prefixed("gitlab-job-token", "GitLab CI/CD job token", `glcbt-[A-Za-z0-9]{1,5}_[A-Za-z0-9_-]{20}`, gitlabTokens),
		prefixed("gitlab-trigger-token", "GitLab trigger token", `glptt-[a-f0-9]{40}`, gitlabTokens),
		prefixed("gitlab-feed-token", "GitLab feed token", `glft-[A-Za-z0-9_-]{20}`, gitlabTokens),
		prefixed("gitlab-mail-token", "GitLab incoming mail token", `glimt-[A-Za-z0-9_-]{25}`, gitlabTokens),
		prefixed("gitlab-agent-token", "GitLab agent for Kubernetes token", `glagent-[A-Za-z0-9_-]{50}`, gitlabTokens),
		prefixed("gitlab-scim-token", "GitLab SCIM token", `glsoat-[A-Za-z0-9_-]{20}`, gitlabTokens),
		prefixed("gitlab-feature-flags-token", "GitLab feature flags client token", `glffct-[A-Za-z0-9_-]{20}`, gitlabTokens),
	}
}
