package detect

// standard is the page of python-stdnum about a number, with its structure and its check digits.
const standard = "https://arthurdejong.org/python-stdnum/doc/1.20/stdnum."

// national returns a rule of a number that a state gives to a person. It counts only next to its name.
func national(kind Kind, name, pattern string, check func(digits []int) bool, page string) Rule {
	return Rule{Kind: kind, Name: name, Class: Personal, Pattern: pattern, Source: standard + page, Confidence: High,
		Check: func(text []byte) bool {
			digits := digitsOf(text)
			return differ(digits) && check(digits)
		}}
}

// Forms of numbers.
const (
	nine       = `[0-9]{3}[. -]?[0-9]{3}[. -]?[0-9]{3}`
	ten        = `[0-9]{6}[ +/-]?[0-9]{4}`
	eleven     = `[0-9]{11}`
	digitsOf13 = `[0-9]{13}`
)

// personalRules are of data about persons.
func personalRules() []Rule {
	return append(nationalRules(), []Rule{
		{Kind: "email-address", Name: "mail address of a person", Class: Personal, Source: "https://www.rfc-editor.org/rfc/rfc5322#section-3.4.1",
			anchors: []string{"@"}, find: findMail},
		{Kind: "phone-number", Name: "phone number", Class: Personal, Source: "https://www.itu.int/rec/T-REC-E.164",
			anchors: []string{"+", "phone", "tel:", "tel.", "mobile", "telefon", "téléphone", "teléfono", "телефон", "电话", "電話"}, find: findPhone},
		{Kind: ipAddress, Name: "public IP address", Class: Personal, Source: "https://www.rfc-editor.org/rfc/rfc6890"},
		{Kind: macAddress, Name: "MAC address", Class: Personal, Source: "https://standards.ieee.org/products-programs/regauth/"},
	}...)
}

// nationalRules are of numbers that states give to persons.
func nationalRules() []Rule {
	return []Rule{
		national("us-ssn", "social security number of the USA", `[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4}`, socialSecurity, "us.ssn").called(
			"ssn", "social_security_number", "social_security"),
		national("ca-sin", "social insurance number of Canada", nine, luhnDigits, "ca.sin").called("social_insurance_number", "sin_number"),
		national("uk-nhs-number", "NHS number of the United Kingdom", `[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}`,
			weighted(11, 0, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), "gb.nhs").called("nhs_number", "nhs"),
		national("ie-ppsn", "personal number of Ireland", `[0-9]{7}[A-Wa-w]`, nil, "ie.pps").called("ppsn", "pps_number").checkedBy(irish),
		national("au-tfn", "tax file number of Australia", nine, weighted(11, 0, 1, 4, 3, 7, 5, 8, 6, 9, 10), "au.tfn").called("tfn", "tax_file_number"),
		national("za-id", "identity number of South Africa", digitsOf13, luhnDigits, "za.idnr").called("south_african_id", "sa_id_number", "rsa_id"),
		national("in-aadhaar", "Aadhaar number of India", `[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}`, verhoeff, "in_.aadhaar").called(
			"aadhaar", "aadhar", "uidai"),
		national("de-tax-id", "tax number of Germany", `[1-9][0-9][ ]?[0-9]{3}[ ]?[0-9]{3}[ ]?[0-9]{3}`, mod1110, "de.idnr").called(
			"steuer_id", "steueridentifikationsnummer", "steuer_idnr", "steuerliche_identifikationsnummer"),
		national("fr-nir", "social security number of France",
			`[12][ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9]{3}[ ]?[0-9]{3}[ ]?[0-9]{2}`, french, "fr.nir").called(
			"nir", "numéro_de_sécurité_sociale", "numero_de_securite_sociale", "sécurité_sociale", "insee"),
		national("es-dni", "identity number of Spain", `[XYZxyz0-9][0-9]{7}-?[A-Za-z]`, nil, "es.dni").called(
			"dni", "nie", "nif").checkedBy(spanish),
		national("it-codice-fiscale", "tax number of Italy",
			`[A-Za-z]{6}[0-9]{2}[A-EHLMPR-Ta-ehlmpr-t][0-9]{2}[A-Za-z][0-9]{3}[A-Za-z]`, nil, "it.codicefiscale").called(
			"codice_fiscale", "cod_fisc", "c.f.").checkedBy(italian),
		national("pt-nif", "tax number of Portugal", `[1-3][0-9]{2}[ ]?[0-9]{3}[ ]?[0-9]{3}`, portuguese, "pt.nif").called(
			"nif", "contribuinte"),
		national("nl-bsn", "citizen service number of the Netherlands", nine, weighted(11, 0, 9, 8, 7, 6, 5, 4, 3, 2, -1), "nl.bsn").called(
			"bsn", "burgerservicenummer", "sofinummer"),
		national("be-nn", "national number of Belgium", `[0-9]{2}[. ]?[0-9]{2}[. ]?[0-9]{2}[ -]?[0-9]{3}[. ]?[0-9]{2}`, belgian, "be.nn").called(
			"rijksregisternummer", "insz", "niss", "numéro_national", "numero_national"),
		{Kind: "ch-ahv", Name: "social security number of Switzerland", Class: Personal, Confidence: High, Source: standard + "ch.ssn",
			Pattern: `756[. ][0-9]{4}[. ]{1}[0-9]{4}[. ]{1}[0-9]{2}`, Check: func(text []byte) bool {
				return weighted(10, 0, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)(digitsOf(text))
			}},
		national("pl-pesel", "PESEL number of Poland", eleven, weighted(10, 0, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1), "pl.pesel").called("pesel"),
		national("cz-rodne-cislo", "birth number of Czechia or Slovakia", `[0-9]{6}/?[0-9]{4}`, czech, "cz.rc").called("rodné_číslo", "rodne_cislo"),
		national("ro-cnp", "personal number of Romania", `[1-8][0-9]{12}`, romanian, "ro.cnp").called("cnp"),
		national("bg-egn", "civil number of Bulgaria", `[0-9]{10}`, bulgarian, "bg.egn").called("egn", "егн"),
		national("ee-isikukood", "personal number of Estonia or Lithuania", `[1-6][0-9]{10}`, baltic, "ee.ik").called("isikukood", "asmens_kodas"),
		national("se-personnummer", "personal number of Sweden", ten, luhnDigits, "se.personnummer").called("personnummer"),
		national("no-fodselsnummer", "birth number of Norway", `[0-9]{6}[ ]?[0-9]{5}`, norwegian, "no.fodselsnummer").called(
			"fødselsnummer", "fodselsnummer", "personnummer"),
		national("fi-hetu", "personal number of Finland", `[0-9]{6}[+A-]?[0-9]{3}[0-9A-Ya-y]`, nil, "fi.hetu").called(
			"hetu", "henkilötunnus", "henkilotunnus", "personbeteckning").checkedBy(finnish),
		national("tr-tckn", "identity number of Turkey", `[1-9][0-9]{10}`, turkish, "tr.tckimlik").called("tckn", "tc_kimlik_no", "kimlik_no"),
		national("br-cpf", "CPF number of Brazil", `[0-9]{3}[.]?[0-9]{3}[.]?[0-9]{3}-?[0-9]{2}`, brazilian, "br.cpf").called("cpf"),
		national("cl-rut", "RUT number of Chile", `(?:[0-9]{2}|[0-9])[.]?[0-9]{3}[.]?[0-9]{3}-?[0-9Kk]`, nil, "cl.rut").called("rut").checkedBy(chilean),
		national("cn-resident-id", "resident identity number of China", `[1-9][0-9]{16}[0-9Xx]`, nil, "cn.ric").called(
			"身份证", "身份证号", "身份证号码", "resident_id", "shenfenzheng").checkedBy(chinese),
		national("kr-rrn", "resident registration number of South Korea", `[0-9]{6}-?[0-9]{7}`, korean, "kr.rrn").called("주민등록번호", "rrn"),
		national("il-id", "identity number of Israel", `[0-9]{9}`, luhnDigits, "il.idnr").called("teudat_zehut", "תעודת_זהות"),
	}
}
