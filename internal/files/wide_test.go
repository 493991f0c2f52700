package files_test

import (
	"strings"
	"testing"

	"github.com/weir-mcp/weir/guard"
	"github.com/weir-mcp/weir/internal/files"
)

// TestOwnByExpansion gives a shell commands in which it expands a word or goes to another folder first: those that lead
// to Weir's own files, and ordinary work.
func TestOwnByExpansion(t *testing.T) {
	w := newWorld(t)
	w.write("code/src/a.go", "")
	w.write("code/weir.yaml", "")
	w.write("st/weir/state.db", "")
	ground := files.New(files.Options{
		Own: []string{w.home + "/code/weir.yaml", w.home + "/st/weir"}, Home: w.home, Dir: w.home + "/code", Servers: map[string]files.Server{"host": {Command: []string{"sh"}, Dir: w.home + "/code"}},
	})
	ownCommands := `cd .. && rm -rf st¦cd HOME && mv st st2¦pushd HOME && rm -rf st¦cd HOME/st && rm -rf weir¦cd && rm -rf st¦cd ..; cd st; cat weir/state.db
cd HOME/st && cat weir/state.db¦find ../st -delete¦find .. -name "st*" -delete¦find ../st -exec rm {} +¦find .. -type f -print0 | xargs -0 rm¦rm -rf ../s*¦rm -rf ../s[t]
rm -rf ../{st,x}¦cat ../st/w[e]ir/state.db¦cat HOME/st/{weir,x}/state.db¦cat ../st/$'weir'/state.db¦cat ../st/$'w\x65ir'/state.db¦cat ../st/+(weir)/state.db
cat ../st/@(weir)/state.db¦cat ../st/$(echo weir)/state.db¦cat ../st/we$""ir/state.db¦cat ../st/we${x}ir/state.db¦cat ../st/we$x$y/state.db¦cat ~/s?/we*/state.db
cat ../st/we{i..i}r/state.db¦truncate -s0 ../st/*/state.db¦cp a ../code/wei{r,s}.yaml¦cp a ../cod?/we*¦pkill wei¦pkill -f weir¦killall -r w.ir¦rm -rf ~/*¦rm -rf ../*
mv -f ../st x¦mv -v -f ../st x¦ln -sfn ../st x¦mv ../st -f x¦mv -t x ../st¦mv -- ../st x¦find -L ../st -delete¦find -H -- ../st -delete¦rm -rf -- -x/../../st¦mv -f -- ../st x¦cat ../st/$(echo $(echo weir))/state.db¦cat < ../st/w*r/state.db¦x=../st/wei? cat¦bash -c "cd .. && rm -r s?"¦find HOME/code -name "*.yaml" -delete¦rm -rf *¦cat ../s*/weir/q`
	ordinary := `rm -rf node_modules/*¦rm -rf dist/* build/*¦ls *¦cat src/*.go¦cat *.yaml¦rm -rf $TMPDIR/x¦rm -rf "$dir"/*¦rm -rf $OUT¦cat $FILE¦cat $DIR/notes.md
cd src && rm -rf out/*¦cd ../other && rm -rf build¦cd /tmp && rm -rf x*¦find . -name "*.pyc" -delete¦find . -name node_modules -exec rm -rf {} +¦find src -type f -delete
find . -path "./node_modules/*" -delete¦mv src/*.go src/old/¦mv -f src/a.go ..¦find -L src -type f -delete¦cp src/{a,b}.go x/¦rm -f ./src/*.o¦rm -f **/*.o¦for f in src/*.go; do rm $f.bak; done¦pkill node¦pkill -f "node server"
pkill -f "vite dev"¦killall -r "node.*"¦grep -rn main *¦sed -i s/a/b/ src/*.go¦ls ../*¦git add -A && git commit -m "remove ../old/* from x"¦rm -rf ${BUILD:-build}/*¦tar xf a.tar -C x/
for d in */; do (cd $d && rm -rf out); done¦cd "$(git rev-parse --show-toplevel)" && rm -rf dist¦go test ./... 2>&1 | grep -v "^ok"¦rm -rf ../other/*¦rm src/[a-z]*.o¦mkdir -p a/{b,c}
echo "a/*" >> .gitignore¦git rm --cached src/*.log¦docker run -v $PWD/src:/src x rm -rf /src/out/*¦awk '{print $1/$2}' a.txt > b¦echo $((1/2)) > c¦cd - && rm -rf out`
	for commands, own := range map[string]bool{ownCommands: true, ordinary: false} {
		for command := range strings.FieldsFuncSeq(commands, func(r rune) bool { return r == '¦' || r == '\n' }) {
			command = strings.ReplaceAll(command, "HOME", w.home)
			got := ground.Own(guard.Touch{Server: "host", Name: "Bash", Changes: true, Texts: []guard.Text{{Path: "command", Text: command}}})
			if (got != "") != own {
				t.Errorf("%q: %q, want own: %v", command, got, own)
			}
		}
	}
}
