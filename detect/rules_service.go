package detect

// serviceRules are of other services.
func serviceRules() []Rule {
	const sentry = "https://docs.sentry.io/security-legal-pii/security/token-formats/"
	const grafana = "https://grafana.com/docs/grafana/latest/administration/service-accounts/"
	return []Rule{
		prefixed("sentry-user-token", "Sentry user auth token", `sntryu_[a-f0-9]{64}`, sentry),
		checked("sentry-org-token", "Sentry organization auth token", `sntrys_(eyJ[A-Za-z0-9+/_=-]{40,})`, jsonHead, sentry),
		prefixed("grafana-service-token", "Grafana service account token", `glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}`, grafana),
		checked("grafana-cloud-token", "Grafana Cloud access policy token", `glc_(eyJ[A-Za-z0-9+/]{60,}={0,3})`, jsonHead,
			"https://grafana.com/docs/grafana-cloud/security-and-account-management/authentication-and-permissions/access-policies/"),
		prefixed("newrelic-key", "New Relic user key", `NRAK-[A-Z0-9]{27}`, "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/"),
		prefixed("newrelic-insert-key", "New Relic insert key", `NRII-[A-Za-z0-9_-]{32}`,
			"https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/"),
		prefixed("dynatrace-token", "Dynatrace token", `dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}`,
			"https://docs.dynatrace.com/managed/dynatrace-api/basics/dynatrace-api-authentication"),
		prefixed("linear-key", "Linear API key", `lin_(?:api|oauth)_[A-Za-z0-9]{40,64}`, "https://linear.app/developers/graphql"),
		prefixed("notion-token", "Notion integration token", `ntn_[0-9]{11}[A-Za-z0-9]{35}`, "https://developers.notion.com/reference/authentication"),
		prefixed("airtable-token", "Airtable personal access token", `pat[A-Za-z0-9]{14}\.[a-f0-9]{64}`,
			"https://airtable.com/developers/web/api/authentication"),
		prefixed("figma-token", "Figma personal access token", `figd_[A-Za-z0-9_-]{40}`, "https://developers.figma.com/docs/rest-api/authentication/"),
		prefixed("contentful-token", "Contentful personal access token", `CFPAT-[A-Za-z0-9_-]{43}`,
			"https://www.contentful.com/developers/docs/references/authentication/"),
		prefixed("typeform-token", "Typeform personal access token", `tfp_[A-Za-z0-9_.=-]{44,59}`,
			"https://www.typeform.com/developers/get-started/personal-access-token/"),
		prefixed("hubspot-token", "HubSpot private app token", `pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
			"https://developers.hubspot.com/docs/guides/apps/private-apps/overview"),
		prefixed("readme-key", "ReadMe API key", `rdme_[a-z0-9]{70}`, "https://docs.readme.com/main/reference/intro/authentication"),
		prefixed("frameio-token", "Frame.io developer token", `fio-u-[A-Za-z0-9_=-]{64}`, "https://developer.frame.io/docs/getting-started/authentication"),
		prefixed("adafruit-key", "Adafruit IO key", `aio_[A-Za-z0-9]{28}`, "https://io.adafruit.com/api/docs/#authentication"),
		prefixed("maxmind-key", "MaxMind license key", `[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk`,
			"https://support.maxmind.com/hc/en-us/articles/4407111582235-Generate-a-License-Key"),
		prefixed("dropbox-token", "Dropbox access token", `sl\.[A-Za-z0-9_=-]{130,}`,
			"https://developers.dropbox.com/oauth-guide"),
		prefixed("klaviyo-key", "Klaviyo private key", `pk_[a-f0-9]{34}`, "https://developers.klaviyo.com/en/docs/authenticate_"),
		prefixed("mapbox-token", "Mapbox secret token", `sk\.eyJ[A-Za-z0-9_-]{40,200}\.[A-Za-z0-9_-]{22}`,
			"https://docs.mapbox.com/help/dive-deeper/access-tokens/"),
		prefixed("launchdarkly-key", "LaunchDarkly access token or SDK key",
			`(?:api|sdk|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
			"https://launchdarkly.com/docs/home/account/api").saying(Medium),
		prefixed("authress-key", "Authress service client key",
			`(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}`,
			"https://authress.io/knowledge-base/docs/authorization/service-clients/secrets-scanning/"),
		prefixed("yandex-key", "Yandex Cloud API key", `AQVN[A-Za-z0-9_-]{35,38}`, "https://yandex.cloud/en/docs/iam/concepts/authorization/api-key"),
		prefixed("twitter-bearer", "X (Twitter) bearer token", `AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{60,120}`,
			"https://docs.x.com/fundamentals/authentication/oauth-2-0/application-only").checkedBy(bearerTail),
	}
}
