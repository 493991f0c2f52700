package detect

import "slices"

// A meaning is one of the things that words say which make an instruction to an agent, in whatever language.
type meaning uint8

// The meanings.
const (
	noMeaning    meaning = iota
	toIgnore             // ignore, forget
	prior                // previous, above
	everything           // all, everything
	orders               // instructions, rules
	told                 // you were told
	agent                // assistant, language model, names of models
	machine              // words for an assistant or a model that mean nothing else
	duty                 // must, should, please
	message              // note to, attention
	posing               // you are now, pretend to be
	turn                 // a marker of a chat template
	bracket              // a tag that poses as one of the host
	authority            // a system message, your administrator
	taskFrame            // before you can solve the task, do the following first
	urgent               // immediately, very important
	negation             // do not, never, without
	toTell               // tell, mention, inform
	user                 // the user, anyone
	secretly             // without a trace
	toSend               // send, forward, upload
	privateData          // passwords, the conversation
	address              // a mail address, a URL
	toolCall             // call the tool
	toCall               // call, use
	toCallBefore         // the same behind the name
	actingTool           // the name of a tool that the agent has, and that acts
	otherTool            // the name of another tool that the agent has
	toReveal             // print, repeat, reveal
	ownPrompt            // your system prompt
	unbound              // developer mode, without restrictions
	hiddenPlace          // an HTML comment, a hidden style
	altText              // a text beside an image
	leakingImage         // a Markdown image or link with a place for data in its URL
	hiddenRun            // text of characters that do not show
	splitWords           // characters that do not show inside of words
	overridden           // a character that turns the direction of writing round
	otherScript          // a passage in another script than the text around it; no word says so
	meanings             // their number
)

// A term is how a meaning is put into words. Languages are kept apart by lines: English, German, French, Spanish,
// Portuguese, Italian, Russian, Chinese, Japanese. A term is in lower case; "*" at its end stands for any ending of a
// word, and a space for any white space.
type term struct {
	means meaning
	words []string
}

// lexicon returns the terms. None of them is a finding by itself: signals are combinations of meanings, or terms that
// say all.
func lexicon() []term {
	return slices.Concat(overrideTerms(), speakerTerms(), frameTerms(), actTerms())
}

// overrideTerms are of setting earlier instructions aside.
func overrideTerms() []term {
	return []term{
		{toIgnore, []string{
			"ignore", "ignoring", "disregard", "disregarding", "forget", "overlook", "override", "bypass", "neglect", "discard",
			"do not follow", "don't follow",
			"stop following", "pay no attention to", "set aside", "do not obey", "cancel",
			"ignoriere", "ignorieren", "ignoriert", "vergiss", "vergesse", "vergessen sie", "missachte*", "überspring*", "außer acht",
			"ignorez", "oublie", "oublier", "oubliez", "ne tiens pas compte", "ne tenez pas compte", "fais abstraction", "négligez",
			"ignora", "ignorar", "ignora", "ignoren", "olvida", "olvide", "olvídate", "olvidar", "haz caso omiso", "no hagas caso",
			"descarta", "pasa por alto",
			"esqueça", "esquece", "esquecer", "desconsidere", "desconsidera", "não siga",
			"ignorate", "ignorare", "dimentica", "dimenticate", "dimenticare", "trascura", "non seguire",
			"игнорир*", "проигнорир*", "забудь*", "забыть", "не обращай внимания", "не обращайте внимания", "отмени*", "пренебр*",
			"忽略", "无视", "無視", "忘记", "忘掉", "不要理会", "不要遵循", "忽视", "忽視", "抛开",
			"忘れて", "忘れろ", "忘れなさい", "従わない", "破棄して",
			"do not listen", "don't listen", "negeer", "vergeet", "zignoruj", "zapomnij", "무시", "잊어", "잊으", "تجاهل", "انس", "انسَ",
			"yok say*", "görmezden gel*", "unut*", "bỏ qua", "quên", "abaikan", "lupakan", "अनदेखा", "नज़रअंदाज़", "भूल जा*", "ลืม",
			"อย่าไปสนใจ",
		}},
		{prior, []string{
			"previous", "previously", "prior", "above", "earlier", "preceding", "foregoing", "original", "initial", "so far",
			"before this", "up to now",
			"existing", "past", "old", "other",
			"vorherig*", "bisherig*", "vorig*", "vorangegangen*", "vorstehend*", "obig*", "frühere*", "ursprünglich*", "zuvor", "bisher",
			"précédent*", "antérieur*", "ci-dessus", "initiales", "auparavant", "préalable*",
			"anterior*", "previas", "previos", "previo", "originales", "de arriba", "hasta ahora",
			"prévias", "prévios", "originais", "acima", "até agora",
			"precedent*", "originali", "di prima", "finora", "sopra",
			"предыдущ*", "прежн*", "ранее", "выше", "прошл*", "до этого", "первоначальн*",
			"之前", "以前", "先前", "上述", "以上", "前面", "此前", "原来的",
			"これまで", "今まで", "上記", "前の", "先の", "元の",
			"vorige", "voorgaande", "eerdere", "poprzedni*", "이전", "앞의", "السابق*", "السابقة", "önceki", "trước", "sebelumnya", "पिछल*",
			"ก่อนหน้า",
		}},
		{everything, []string{
			"everything", "anything", "all", "any", "every",
			"alles", "alle", "allem", "tout", "toutes", "tous", "todo", "todas", "todos", "toda", "tudo", "tutto", "tutte", "tutti",
			"все", "всё", "всех",
			"所有", "一切", "全部", "すべて", "全て",
		}},
		{orders, []string{
			"instruction", "instructions", "directive", "directives", "prompt", "prompts", "guidelines", "guidance", "commands",
			"orders", "rules",
			"restrictions", "system message", "system messages", "programming", "constraints", "policies",
			"anweisung*", "instruktion*", "befehl*", "vorgabe*", "aufforderung*", "richtlinie*", "regeln", "eingabe*",
			"consignes", "directive*", "règles", "indications", "ordres",
			"instruccion*", "indicacion*", "órdenes", "directrices", "reglas", "mensajes",
			"instruç*", "ordens", "diretrizes", "regras", "comandos",
			"istruzion*", "direttiv*", "ordini", "regole", "indicazioni",
			"инструкци*", "указани*", "команд*", "правил*", "директив*", "запрос*",
			"指令", "指示", "说明", "提示", "命令", "规则", "規則",
			"ルール", "プロンプト", "指図",
			"instructies", "opdrachten", "instrukcj*", "polecenia", "poleceń", "지침", "지시", "명령", "규칙", "التعليمات", "تعليمات*",
			"الأوامر", "talimat*", "komut*", "hướng dẫn", "chỉ dẫn", "instruksi", "perintah", "निर्देश*", "คำแนะนำ", "คําแนะนํา",
			"คำสั่ง",
		}},
		{told, []string{
			"you were told", "been told", "you have been given", "you were given", "you've been told", "i told you", "were instructed",
			"been instructed",
			"i said", "you know", "you learned", "dir gesagt", "man dir", "qu'on t'a dit", "qu'on vous a dit", "te han dicho",
			"te dijeron", "te dije", "te disseram",
			"foi dito", "ti è stato detto", "ti hanno detto", "тебе говорили", "тебе сказали", "вам сказали", "告诉你的", "言われた",
		}},
	}
}

// speakerTerms are of who speaks, and to whom.
func speakerTerms() []term {
	return []term{
		{duty, []string{
			"must", "should", "please", "are required to", "have to", "are to", "müssen", "sollen", "doivent", "deben", "devem",
			"devono", "должны", "必须", "请", "必ず",
		}},
		{machine, []string{
			"ai assistant", "ai assistants", "ai agent", "ai agents", "ai model", "ai models", "language model", "language models",
			"llm", "llms", "ki-assistent*", "sprachmodell*", "assistants ia", "modelos de ia", "языковые модели", "ии-ассистент*",
			"人工智能助手", "ai助手", "大模型", "aiアシスタント",
		}},
		{agent, []string{
			"ai assistant", "ai assistants", "ai agent", "ai agents", "ai model", "ai models", "ai system", "ai systems", "assistant",
			"language model", "language models", "llm", "llms",
			"chatgpt", "claude", "gpt-4*", "gpt-5*", "gpt-3*", "gemini", "copilot", "codex", "chatbot", "the model", "the agent",
			"agents", "bot", "ai",
			"ki-assistent*", "ki", "sprachmodell*", "assistent", "assistenten", "assistant ia", "modèle de langage", "l'ia", "agent ia",
			"asistente", "modelo de lenguaje", "modelo de ia", "la ia", "agente de ia", "assistente", "modelo de linguagem",
			"assistente ia", "modello linguistico",
			"ассистент*", "ии", "языковая модель", "помощник", "агент", "нейросеть",
			"人工智能", "助手", "语言模型", "大模型", "智能体", "アシスタント", "言語モデル", "エージェント",
		}},
		{message, []string{
			"note to", "note for", "for ai", "to ai", "to all ai", "for all ai", "for any ai", "to any ai", "if you are an",
			"if you're an", "notice to", "message to", "message for", "message from me", "instruction to", "instruction for",
			"instructions to", "instructions for", "directive for",
			"attention", "dear", "hey", "listen", "to you,", "addressed to", "reminder to", "reminder for", "request to",
			"hinweis an", "nachricht an", "anweisung an", "anweisungen für", "achtung", "an alle", "note à", "message à",
			"message pour", "instructions pour", "à l'attention",
			"nota para", "mensaje para", "instrucciones para", "atención", "mensagem para", "instruções para", "atenção", "nota per",
			"messaggio per", "istruzioni per", "attenzione",
			"сообщение для", "инструкция для", "инструкции для", "внимание", "примечание для", "致", "注意", "给ai", "への指示", "へのメッセージ", "への注意",
		}},
		{posing, []string{
			"you are now a", "you are now an", "you are now in", "you are now the", "from now on you", "from now on, you",
			"pretend to be", "pretend you are", "roleplay as", "role-play as",
			"act as if you", "you will act as", "you are going to act as", "i want you to act as", "you are about to immerse",
			"assume the role of", "take on the role", "your new role", "imagine you are", "imagine that you are",
			"simulate being", "you are no longer", "immerse yourself into the role",
			"du bist jetzt", "du bist nun", "ab jetzt bist du", "von nun an", "tu so, als", "gib dich als", "stell dir vor, du",
			"tu es maintenant", "vous êtes maintenant", "à partir de maintenant", "fais semblant",
			"comporte-toi comme", "eres ahora", "ahora eres", "a partir de ahora", "finge ser", "actúa como", "haz de cuenta",
			"você agora é", "agora você é", "a partir de agora", "finja ser", "aja como",
			"ora sei", "adesso sei", "d'ora in poi", "fai finta di", "fingi di", "теперь ты", "отныне ты", "с этого момента ты",
			"притворись", "представь, что ты", "веди себя как",
			"你现在是", "从现在起", "从现在开始", "假装你", "扮演", "あなたは今", "今からあなた", "のふりをして", "として振る舞", "になりきって",
		}},
		{turn, []string{
			"<|im_start|>", "<|im_end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|start_header_id|>", "<|eot_id|>",
			"<|endoftext|>", "<|end|>", "<start_of_turn>", "<end_of_turn>", "[inst]", "[/inst]", "<<sys>>",
			"### instruction:", "### system:", "### human:", "### assistant:", "[system](#", "<|channel|>", "<|message|>",
		}},
		{bracket, []string{
			"<important>", "<information>", "<system>", "</system>", "<system message>", "<system_message>", "<system-message>",
			"<instructions>", "</instructions>", "<system-reminder>", "</system-reminder>", "<system_instruction>",
			"<admin>", "[system]", "[admin]", "[system message]", "[important]", "<assistant>", "</assistant>", "<tool_call>",
			"<function_calls>", "<user_query>", "</tool_result>", "</function_results>",
			"system override",
		}},
		{authority, []string{
			"system message", "system notice", "system alert", "important message from", "urgent message from",
			"message from the system", "message from your", "admin override", "administrator override", "developer message",
			"from your developer*", "from the developer*",
			"i am your creator", "i am your developer", "i am the administrator", "i am your administrator", "security team requires",
			"mandatory protocol",
			"i'm your developer", "your administrator", "your operator",
			"systemnachricht", "nachricht von deinem", "message du système", "message système", "mensaje del sistema",
			"mensagem do sistema", "messaggio di sistema", "системное сообщение", "сообщение от системы", "системное уведомление",
			"系统消息", "系统通知", "系统指令", "システムメッセージ", "システム通知", "管理者から",
		}},
	}
}

// frameTerms are of tasks that take the place of the user's.
func frameTerms() []term {
	return []term{
		{taskFrame, []string{
			"before you can solve", "before you do anything", "before doing anything else", "before you continue with",
			"before completing the task", "before proceeding with the user", "before answering the user", "before you answer",
			"before responding to the user",
			"must strictly adhere", "strictly adhere to the following", "adhere to the following instruction*",
			"follow these instructions instead", "do the following instead", "do the following first", "instead of answering",
			"instead, do the following",
			"task that i gave you", "task i gave you", "your original task", "your real task", "your new task", "your new instructions",
			"new instructions:", "new instruction:", "new task:", "new objective", "your next task is",
			"as if nothing happened", "task complete.", "task completed.", "task complete!", "then continue with the original",
			"your actual task", "your true task", "required to follow these", "you must follow these instructions", "ignore the user",
			"bevor du die aufgabe", "bevor du antwortest", "deine neue aufgabe", "neue anweisung*", "neue aufgabe:",
			"avant de répondre à l'utilisateur", "avant de résoudre", "nouvelles instructions", "nouvelle tâche",
			"votre nouvelle tâche", "ta nouvelle tâche",
			"antes de responder al usuario", "nuevas instrucciones", "nueva tarea", "tu nueva tarea", "antes de responder ao usuário",
			"novas instruções", "nova tarefa", "sua nova tarefa", "prima di rispondere all'utente", "nuove istruzioni", "nuovo compito",
			"il tuo nuovo compito",
			"прежде чем ответить", "новые инструкции", "новая задача", "твоя новая задача", "新的指令", "新指令", "新任务", "你的新任务", "在回答之前",
			"新しい指示", "新しいタスク", "回答する前に", "次の指示に従",
			"ignore the above and", "disregard the above and",
		}},
		{urgent, []string{
			"important!!!", "important:", "immediately", "urgent", "mandatory", "highest priority", "top priority",
			"critical instruction*", "crucial", "it is very important", "must", "sofort", "unbedingt", "immédiatement", "impératif",
			"inmediatamente", "imediatamente",
			"immediatamente", "немедленно", "срочно", "立即", "马上", "必须", "直ちに", "至急", "必ず",
			"authorized by", "pre-authorized", "has been approved by", "already approved", "compliance requires", "policy requires",
			"from anthropic", "from openai", "instead",
		}},
	}
}

// actTerms are of acts that agents are told to do.
func actTerms() []term {
	return []term{
		{negation, []string{
			"do not", "don't", "never", "without", "not to", "must not", "nicht", "ohne", "ne pas", "ne le", "sans", "n'en", "no le",
			"no lo", "no les", "sin", "nunca", "não", "sem", "non", "senza", "не", "никогда", "без", "不要", "不得", "别", "無く", "ないで",
			"せずに", "ずに",
		}},
		{toTell, []string{
			"tell", "telling", "mention", "mentioning", "inform", "informing", "disclose", "reveal", "notify", "notifying", "alert",
			"alerting", "show this", "asking", "ask the", "sag", "sage", "sagen", "erwähn*", "informier*", "verrate*", "mitteil*",
			"benachrichtig*",
			"dis", "dites", "dire", "informer", "mentionne*", "révèle*", "avertir", "digas", "decir", "menciones", "informar",
			"informes", "avisar", "revelar", "diga", "mencione", "dizer", "dirlo", "menzionare", "informare", "avvisare", "rivelare",
			"говори*", "сообща*", "сообщи*", "упомина*", "информир*", "уведом*", "告诉", "通知", "提及", "透露", "告知", "言わ", "知らせ", "伝え", "教え",
		}},
		{user, []string{
			"user", "users", "the human", "anyone", "anybody", "them about", "nutzer", "benutzer", "anwender", "jemand*", "niemand*",
			"utilisateur", "l'utilisateur", "personne", "usuario", "usuário", "utente", "all'utente", "l'utente", "nessuno", "nadie",
			"ninguém",
			"пользовател*", "никому", "用户", "任何人", "ユーザー", "誰にも", "利用者",
		}},
		{secretly, []string{
			"secretly", "covertly", "without a trace", "leave no trace", "unnoticed", "keep this secret", "keep this hidden",
			"hide this from", "not visible to the user", "must not know", "goes undetected", "discreetly", "stealthily",
			"without detection", "undetected", "without being noticed",
			"without alerting", "heimlich", "unbemerkt", "secrètement", "discrètement", "en secreto", "en secret", "secretamente",
			"sin que se note", "segretamente", "di nascosto", "тайно", "незаметно", "втайне", "秘密地", "偷偷", "悄悄", "こっそり", "密かに", "気付かれ",
		}},
		{toSend, []string{
			"send", "forward", "e-mail", "upload", "transmit", "exfiltrate", "leak", "submit", "transfer", "schick*", "leite",
			"hochladen", "envoie", "envoyez", "envoyer", "transférez", "transfère", "envía", "envíe", "enviar", "reenvía", "sube",
			"envie", "encaminhe", "invia", "inviare", "inoltra", "отправь*", "отправить", "перешли*", "загрузи*", "вышли*", "发送", "转发",
			"上传", "发到", "送信", "転送", "アップロード", "送って",
		}},
		{privateData, []string{
			"conversation", "chat history", "password", "passwords", "credentials", "api key", "api keys", "secret key", "private key",
			"private keys", "access token", "secrets", ".env", "id_rsa", "~/.ssh", "ssh keys", "ssh key", "environment variables",
			"personal data", "personal information",
			"all emails", "all messages", "security code", "verification code", "credit card", "bank account", "bank details",
			"system prompt", "customer data", "user data", "confidential", "/etc/passwd", "mcp.json",
			"passwort", "passwörter", "zugangsdaten", "gesprächsverlauf", "mot de passe", "mots de passe", "identifiants",
			"conversación", "contraseña*", "credenciales", "conversa", "senha*", "credenciais", "conversazione", "credenziali",
			"парол*", "переписк*", "учётные данные", "учетные данные",
			"密码", "密钥", "对话", "聊天记录", "凭证", "パスワード", "会話", "認証情報", "秘密鍵",
		}},
		{toolCall, []string{
			"call the following tool*", "call the following function*", "use the following tool*", "invoke the following",
			"invoke the tool", "call the tool", "tool call*", "call these tools", "rufe das werkzeug*", "appelle l'outil",
			"llama a la herramienta", "chame a ferramenta", "chiama lo strumento",
			"вызови инструмент", "调用工具", "ツールを呼び出", "ツールを使って",
		}},
		{toCall, []string{
			"call", "use", "run", "invoke", "execute", "trigger", "rufe", "rufen sie", "verwende", "verwenden sie", "benutze", "nutze",
			"führe", "führen sie", "starte", "appelle", "appelez", "utilise", "utilisez", "exécute", "exécutez", "lance", "lancez",
			"llama", "llame", "usa", "utiliza", "utilice", "ejecuta", "ejecute", "chame", "chama", "utilize", "chiama", "chiamate",
			"usate", "utilizza", "esegui", "eseguite", "вызови*", "используй*", "запусти*", "выполни*", "调用", "使用", "运行", "执行",
		}},
		{toCallBefore, []string{"を呼び出", "を使", "を実行", "ツールを呼び出", "ツールを使", "ツールを実行"}},
		{toReveal, []string{
			"print", "repeat", "reveal", "output", "display", "show", "tell me", "give me", "what is", "what are", "what's", "share",
			"list", "say", "write", "echo", "summarize", "translate", "spell", "dump",
			"gib", "nenne", "zeig", "zeige", "wiederhole", "verrate", "was ist", "wie lautet", "wie ist", "affiche", "répète", "révèle",
			"quelle est", "quel est", "donne", "donnez", "quelles sont", "muestra", "repite", "revela", "cuál es", "dime", "cuáles son",
			"mostre", "repita", "revele", "qual é", "diga-me", "mostra", "ripeti", "rivela", "qual è", "dimmi", "quali sono",
			"покажи", "повтори", "раскрой", "каков", "какой", "назови", "выведи", "скажи", "какие", "显示", "重复", "透露", "打印", "输出", "告诉我",
			"是什么", "表示", "繰り返し", "教えて", "出力", "何ですか", "明かし",
		}},
		{ownPrompt, []string{
			"system prompt", "your instructions", "your initial instructions", "your prompt", "initial prompt", "hidden instructions",
			"hidden prompt", "your rules", "your guidelines", "your secret key", "your secret", "the secret key", "secret password",
			"your system message", "your configuration", "your original instructions",
			"previous instructions", "prior instructions", "above instructions", "instructions given", "earlier instructions",
			"prompt above", "text above", "instructions above", "system-prompt", "systemprompt", "deine anweisungen", "dein geheim*",
			"ihr geheim*", "geheimer schlüssel", "geheimen schlüssel", "tes instructions", "vos instructions", "clé secrète",
			"votre clé", "tus instrucciones", "clave secreta", "llave secreta", "prompt del sistema", "suas instruções",
			"chave secreta", "prompt do sistema",
			"tue istruzioni", "chiave segreta", "prompt di sistema", "твои инструкции", "ваши инструкции", "секретный ключ",
			"системный промпт", "你的指令", "你的系统提示", "系统提示词", "系统提示", "秘密密钥", "密钥是", "システムプロンプト", "あなたの指示", "秘密鍵は", "秘密の鍵",
		}},
		{unbound, []string{
			"developer mode", "do anything now", "without any restrictions", "no longer bound", "free of the typical confines",
			"not bound by", "god mode", "debug mode enabled",
			"entwicklermodus", "ohne einschränkungen", "mode développeur", "sans aucune restriction", "modo desarrollador",
			"sin restricciones", "modo desenvolvedor", "sem restrições", "modalità sviluppatore", "senza restrizioni",
			"режим разработчика", "без ограничений", "开发者模式", "不受限制", "没有任何限制", "開発者モード", "制限なし",
		}},
		{hiddenPlace, []string{
			"<!--", "display:none", "display: none", "visibility:hidden", "visibility: hidden", "font-size:0", "font-size: 0",
			"font-size:1px", "opacity:0;", "opacity: 0;", "color:white", "color: white", "color:#fff", "color: #fff",
			"color:transparent", "left:-9999px", "[//]: #",
		}},
		{altText, []string{"alt=\"", "aria-label=\"", "title=\"", "![", "content=\""}},
	}
}
