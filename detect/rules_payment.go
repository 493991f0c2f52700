package detect

// paymentRules are of payment services and shops, and of money itself.
func paymentRules() []Rule {
	return []Rule{
		prefixed("stripe-key", "Stripe secret or restricted key", `[sr]k_(?:live|test)_[A-Za-z0-9]{24,247}`, "https://docs.stripe.com/keys"),
		prefixed("stripe-webhook-secret", "Stripe webhook signing secret", `whsec_[A-Za-z0-9+/]{32,64}`, "https://docs.stripe.com/webhooks"),
		prefixed("square-token", "Square access token", `sq0atp-[A-Za-z0-9_-]{22}`, "https://developer.squareup.com/docs/build-basics/access-tokens"),
		prefixed("square-secret", "Square OAuth secret", `sq0csp-[A-Za-z0-9_-]{43}`, "https://developer.squareup.com/docs/oauth-api/overview"),
		prefixed("paypal-braintree-token", "Braintree access token", `access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}`,
			"https://developer.paypal.com/braintree/docs/guides/extend/oauth/access-tokens/"),
		prefixed("plaid-token", "Plaid access token",
			`access-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`,
			"https://plaid.com/docs/api/items/"),
		prefixed("razorpay-key", "Razorpay key ID", `rzp_live_[A-Za-z0-9]{14}`,
			"https://razorpay.com/docs/payments/dashboard/account-settings/api-keys/").saying(Medium),
		prefixed("flutterwave-key", "Flutterwave secret key", `FLWSECK(?:_TEST)?-[a-f0-9]{32}-X`,
			"https://developer.flutterwave.com/docs/authentication"),
		prefixed("shopify-token", "Shopify access token or secret", `shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}`,
			"https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens"),
		prefixed("shippo-token", "Shippo API token", `shippo_(?:live|test)_[a-f0-9]{40}`,
			"https://docs.goshippo.com/docs/guides_general/authentication/"),
		prefixed("easypost-key", "EasyPost API key", `EZ[AT]K[A-Za-z0-9]{54}`, "https://docs.easypost.com/docs/authentication"),
		prefixed("duffel-token", "Duffel access token", `duffel_(?:test|live)_[A-Za-z0-9_=-]{43}`,
			"https://duffel.com/docs/api/overview/making-requests"),
		{Kind: paymentCard, Name: "payment card number", Class: Financial, Source: "https://www.iso.org/standard/70484.html"},
		{Kind: bankAccount, Name: "international bank account number", Class: Financial,
			Source: "https://www.swift.com/standards/data-standards/iban-international-bank-account-number"},
	}
}
