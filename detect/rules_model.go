package detect

// modelRules are of providers of models.
func modelRules() []Rule {
	return []Rule{
		prefixed("openai-key", "OpenAI API key",
			`sk-(?:proj-|svcacct-|admin-)(?:[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58}T3BlbkFJ[A-Za-z0-9_-]{58})`,
			"https://platform.openai.com/docs/api-reference/authentication"),
		prefixed("openai-legacy-key", "OpenAI API key", `sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}`,
			"https://platform.openai.com/docs/api-reference/authentication"),
		prefixed("anthropic-key", "Anthropic API key", `sk-ant-(?:api03|admin01)-[A-Za-z0-9_-]{93}AA`, "https://docs.anthropic.com/en/api/overview"),
		prefixed("anthropic-oauth-token", "Anthropic OAuth token", `sk-ant-o[ar]t01-[A-Za-z0-9_-]{80,120}`,
			"https://docs.anthropic.com/en/api/overview"),
		prefixed("huggingface-token", "Hugging Face token", `(?:hf|api_org)_[A-Za-z]{34}`, "https://huggingface.co/docs/hub/security-tokens"),
		prefixed("groq-key", "Groq API key", `gsk_[A-Za-z0-9]{52}`, "https://console.groq.com/docs/quickstart"),
		prefixed("replicate-token", "Replicate API token", `r8_[A-Za-z0-9]{37}`, "https://replicate.com/docs/reference/http#authentication"),
		prefixed("perplexity-key", "Perplexity API key", `pplx-[A-Za-z0-9]{48}`, "https://docs.perplexity.ai/guides/getting-started"),
		prefixed("openrouter-key", "OpenRouter API key", `sk-or-v1-[a-f0-9]{64}`, "https://openrouter.ai/docs/api-reference/authentication"),
		prefixed("xai-key", "xAI API key", `xai-[A-Za-z0-9]{80}`, "https://docs.x.ai/docs/tutorial"),
		prefixed("langsmith-key", "LangSmith API key", `lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}`,
			"https://docs.smith.langchain.com/administration/how_to_guides/organization_management/create_account_api_key"),
		prefixed("langfuse-key", "Langfuse secret key", `sk-lf-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}`,
			"https://langfuse.com/docs/api"),
		prefixed("pinecone-key", "Pinecone API key", `pcsk_[A-Za-z0-9]{5,6}_[A-Za-z0-9]{63}`,
			"https://docs.pinecone.io/guides/projects/manage-api-keys"),
		prefixed("nvidia-key", "NVIDIA API key", `nvapi-[A-Za-z0-9_-]{64}`,
			"https://docs.nvidia.com/nim/large-language-models/latest/getting-started.html"),
		prefixed("tavily-key", "Tavily API key", `tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}`, "https://docs.tavily.com/documentation/quickstart"),
		prefixed("firecrawl-key", "Firecrawl API key", `fc-[a-f0-9]{32}`, "https://docs.firecrawl.dev/introduction").saying(Medium),
	}
}
