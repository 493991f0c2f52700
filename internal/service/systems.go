package service

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf16"
)

// Name is the name of the service, in the words of each system.
const (
	unitName = "weir.service"
	agent    = "dev.weir.run"
	taskName = "Weir"
)

// systemd returns the unit of a user. It leaves out each setting that needs a user namespace, such as ProtectSystem: in
// one, root's folders belong to nobody, and weir run refuses a configuration below such folders. For the user, /usr and
// /etc are read-only anyway. Settings that bar programs from making code, namespaces or connections would stop servers.
func systemd(at Place, c Command) (*Job, error) {
	if strings.ContainsAny(c.Exe, `\"'`) {
		return nil, fmt.Errorf("systemd starts no program whose path has quotes or backslashes: %q", c.Exe)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", unsealed)
	b.WriteString("# Additions belong into a file of your own: systemctl --user edit " + unitName + "\n")
	b.WriteString("[Unit]\nDescription=Weir, a gateway for MCP servers\nDocumentation=https://github.com/weir-mcp/weir\n\n[Service]\n")
	fmt.Fprintf(&b, "ExecStart=%s\n", systemdLine(append([]string{c.Exe}, c.Args...)))
	if strings.TrimSpace(c.Folder) != c.Folder || strings.HasSuffix(c.Folder, `\`) {
		return nil, fmt.Errorf("systemd cannot work in the folder %q", c.Folder)
	}
	fmt.Fprintf(&b, "WorkingDirectory=%s\n", strings.ReplaceAll(c.Folder, "%", "%%"))
	for _, v := range c.Env {
		fmt.Fprintf(&b, "Environment=%s\n", quoted(strings.ReplaceAll(v, "%", "%%")))
	}
	b.WriteString(`Restart=on-failure
RestartSec=2
RestartPreventExitStatus=2
KillMode=mixed
UMask=0077
LimitCORE=0
NoNewPrivileges=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
`)
	ctl := func(words ...string) Step { return Step{Words: append([]string{"systemctl", "--user"}, words...)} }
	return &Job{
		Path: filepath.Join(at.Config, "systemd", "user", unitName), Text: b.String(),
		Start: []Step{ctl("daemon-reload"), ctl("enable", unitName), ctl("restart", unitName)},
		Stop:  []Step{ctl("disable", "--now", unitName)}, Forget: []Step{ctl("daemon-reload")},
		Query: []string{"systemctl", "--user", "is-active", unitName},
		Log:   "journalctl --user -u " + unitName,
	}, nil
}

// systemdLine returns words as a command line of a unit.
func systemdLine(words []string) string {
	line := make([]string, len(words))
	for i, w := range words {
		w = strings.ReplaceAll(w, "%", "%%")
		if i > 0 {
			w = strings.ReplaceAll(w, "$", "$$") // in the program's path it stands for itself
		}
		line[i] = quoted(w)
	}
	return strings.Join(line, " ")
}

// quoted returns a word of a unit, in quotes if it needs them.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+$") == "" {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// launchd returns the agent of a user.
func launchd(at Place, c Command) (*Job, error) {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
`)
	fmt.Fprintf(&b, "<!-- %s -->\n<plist version=\"1.0\">\n<dict>\n", unsealed)
	text := func(indent, s string) { fmt.Fprintf(&b, "%s<string>%s</string>\n", indent, escaped(s)) }
	key := func(indent, s string) { fmt.Fprintf(&b, "%s<key>%s</key>\n", indent, escaped(s)) }
	log := filepath.Join(at.State, "service.log")
	for _, m := range [][2]string{{"Label", agent}, {"WorkingDirectory", c.Folder}, {"StandardErrorPath", log}, {"ProcessType", "Background"}} {
		key("  ", m[0])
		text("  ", m[1])
	}
	key("  ", "ProgramArguments")
	b.WriteString("  <array>\n")
	for _, w := range append([]string{c.Exe}, c.Args...) {
		text("    ", w)
	}
	b.WriteString("  </array>\n")
	key("  ", "EnvironmentVariables")
	b.WriteString("  <dict>\n")
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		key("    ", name)
		text("    ", value)
	}
	b.WriteString(`  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>Umask</key>
  <integer>63</integer>
  <key>HardResourceLimits</key>
  <dict>
    <key>Core</key>
    <integer>0</integer>
  </dict>
</dict>
</plist>
`)
	path, domain := filepath.Join(at.Home, "Library", "LaunchAgents", agent+".plist"), "gui/"+at.User
	stop := Step{Words: []string{"launchctl", "bootout", domain + "/" + agent}, May: true}
	return &Job{
		Path: path, Text: b.String(),
		Start: []Step{stop, {Words: []string{"launchctl", "bootstrap", domain, path}}},
		Stop:  []Step{stop},
		Query: []string{"launchctl", "print", domain + "/" + agent}, Log: log,
	}, nil
}

// task returns the task of a user of Windows, which runs while that user is logged in.
func task(at Place, c Command) (*Job, error) {
	if len(c.Env) > 0 {
		name, _, _ := strings.Cut(c.Env[0], "=")
		return nil, fmt.Errorf("a task of Windows takes no variables, so not %s: set it for your account", name)
	}
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		if strings.Contains(w, `"`) {
			return nil, fmt.Errorf("the argument %q has quotes, which a task of Windows cannot pass on for certain", w)
		}
		if words[i] = w; w == "" || strings.ContainsAny(w, " \t") {
			words[i] = `"` + w + strings.Repeat(`\`, len(w)-len(strings.TrimRight(w, `\`))) + `"`
		}
	}
	for _, s := range append([]string{c.Exe, c.Folder}, c.Args...) {
		if strings.ContainsAny(s, "%$") {
			return nil, fmt.Errorf("a task of Windows would put other text in the place of %% and $ in %q", s)
		}
	}
	text := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-16"?>
<!-- %s -->
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Weir, a gateway for MCP servers</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>%[2]s</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>%[2]s</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>999</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>%[3]s</Command>
      <Arguments>%[4]s</Arguments>
      <WorkingDirectory>%[5]s</WorkingDirectory>
    </Exec>
  </Actions>
</Task>
`, unsealed, escaped(at.User), escaped(c.Exe), escaped(strings.Join(words, " ")), escaped(c.Folder))
	path := filepath.Join(at.State, "service.xml")
	sch := func(words ...string) Step { return Step{Words: append([]string{"schtasks"}, words...)} }
	stop := sch("/End", "/TN", taskName)
	stop.May = true
	return &Job{
		Path: path, Text: text, wide: true,
		Start: []Step{sch("/Create", "/F", "/TN", taskName, "/XML", path), stop, sch("/Run", "/TN", taskName)},
		Stop:  []Step{stop, sch("/Delete", "/F", "/TN", taskName)},
		Query: []string{"schtasks", "/Query", "/TN", taskName}, Log: "the history of the task " + taskName + " in Task Scheduler",
	}, nil
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

// widened returns a text in UTF-16, with its mark.
func widened(text string) []byte {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// narrowed is the inverse of widened.
func narrowed(raw []byte) string {
	raw = bytes.TrimPrefix(raw, []byte{0xff, 0xfe})
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}
