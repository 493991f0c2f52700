package detect

const slackTokens = "https://docs.slack.dev/authentication/tokens"

// messageRules are of chats and mail.
func messageRules() []Rule {
	return []Rule{
		prefixed("slack-bot-token", "Slack bot token", `xoxb-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9]{20,34}`, slackTokens),
		prefixed("slack-user-token", "Slack user token", `xox[pe]-[0-9]{10,13}-[0-9]{10,13}-[0-9]{10,13}-[A-Za-z0-9-]{28,64}`, slackTokens),
		prefixed("slack-app-token", "Slack app-level token", `xapp-[0-9]-[A-Z0-9]{9,13}-[0-9]{10,14}-[a-f0-9]{64}`, slackTokens),
		prefixed("slack-config-token", "Slack configuration token", `xoxe\.xox[bp]-[0-9]-[A-Za-z0-9]{146,170}`, slackTokens),
		prefixed("slack-refresh-token", "Slack refresh token", `xoxe-[0-9]-[A-Za-z0-9]{140,170}`, slackTokens),
		prefixed("slack-webhook", "Slack webhook URL", `hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{43,80}`,
			"https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks"),
		prefixed("discord-webhook", "Discord webhook URL", `discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,72}`,
			"https://docs.discord.com/developers/resources/webhook"),
		prefixed("telegram-bot-token", "Telegram bot token", `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`,
			"https://core.telegram.org/bots/api#authorizing-your-bot"),
		prefixed("teams-webhook", "Microsoft Teams webhook URL",
			`\.webhook\.office\.com/webhookb2/[a-f0-9-]{36}@[a-f0-9-]{36}/IncomingWebhook/[a-f0-9]{32}/[a-f0-9-]{36}`,
			"https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook"),
		prefixed("sendgrid-key", "SendGrid API key", `SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`,
			"https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys"),
		prefixed("brevo-key", "Brevo API key", `xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}`, "https://developers.brevo.com/docs/getting-started"),
		prefixed("mailchimp-key", "Mailchimp API key", `[a-f0-9]{32}-us[0-9]{1,2}`, "https://mailchimp.com/developer/marketing/guides/quick-start/"),
		prefixed("mailgun-key", "Mailgun API key", `key-[a-f0-9]{32}`,
			"https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth").saying(Medium),
		prefixed("mailersend-token", "MailerSend API token", `mlsn\.[a-f0-9]{64}`, "https://developers.mailersend.com/general.html#authentication"),
		prefixed("resend-key", "Resend API key", `re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}`, "https://resend.com/docs/api-reference/introduction"),
		prefixed("twilio-key", "Twilio API key SID", `SK[a-f0-9]{32}`, "https://www.twilio.com/docs/iam/api-keys").saying(Medium),
		prefixed("facebook-token", "Facebook access token", `EAA[A-Za-z0-9]{100,400}`,
			"https://developers.facebook.com/docs/facebook-login/guides/access-tokens/"),
	}
}
