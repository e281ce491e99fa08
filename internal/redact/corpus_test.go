package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Everything here is made up when the tests run. Nothing was ever valid, and no secret is in the repository: the
// templates below have the forms of secrets, and a seed fills them in.

// A maker fills templates. {b30} is thirty letters of an alphabet, {W} a word, and [[ ]] stand around a secret.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 2))} }

const (
	digitLetters = "0123456789"
	lowLetters   = "abcdefghijklmnopqrstuvwxyz"
	upLetters    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

var alphabets = map[byte]string{
	'b': digitLetters + upLetters + lowLetters,
	'h': digitLetters + "abcdef",
	'w': upLetters + lowLetters + digitLetters,
	'_': upLetters + lowLetters + digitLetters + "-_",
	's': upLetters + lowLetters + digitLetters + "+/",
	'u': upLetters + digitLetters,
	'U': upLetters,
	'l': lowLetters,
	'L': upLetters + lowLetters,
	'd': "123456789",
	't': upLetters + "234567",
	'j': "klmnopqrstuvwxyz",
}

var words = strings.Fields("harbor lantern copper violet meadow anchor walnut ember glacier thistle saffron cobalt juniper orchid pebble quartz raven sierra tundra willow")

var hole = regexp.MustCompile(`\{(W|H|P|T|[bhw_suUlLdtj])(\d*)\}`)

func (m maker) letters(alphabet byte, n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabets[alphabet][m.IntN(len(alphabets[alphabet]))]
	}
	return string(out)
}

func (m maker) word() string { return words[m.IntN(len(words))] }

func pick[T any](m maker, list []T) T { return list[m.IntN(len(list))] }

// fill replaces the holes of a template.
func (m maker) fill(template string) string {
	return hole.ReplaceAllStringFunc(template, func(s string) string {
		at := hole.FindStringSubmatch(s)
		n, _ := strconv.Atoi(at[2])
		switch at[1] {
		case "W":
			return m.word()
		case "H":
			return m.word() + "-" + pick(m, []string{"db", "prod", "eu1"}) + ".example.org"
		case "P":
			return m.password()
		case "T":
			return fmt.Sprintf("2026-%02d-%02dT%02d:%02d:00.%03dZ", 1+m.IntN(11), 1+m.IntN(28), m.IntN(24), m.IntN(60), m.IntN(1000))
		}
		return m.letters(at[1][0], n)
	})
}

func (m maker) password() string {
	switch m.IntN(3) {
	case 0:
		return m.letters('b', 16+m.IntN(12))
	case 1:
		return strings.Join([]string{m.word(), m.word(), m.word(), m.word()}, "-") + strconv.Itoa(10+m.IntN(90))
	}
	w := m.word()
	return strings.ToUpper(w[:1]) + w[1:] + strconv.Itoa(1000+m.IntN(9000)) + m.word() + m.letters('b', 3)
}

func (m maker) bytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(m.Uint32())
	}
	return out
}

// summed is a token of GitHub or npm: thirty letters and their sum.
func summed(prefix string) func(maker) string {
	return func(m maker) string {
		body, sum, end := m.letters('b', 30), uint32(0), ""
		for sum = crc32.ChecksumIEEE([]byte(body)); len(end) < 6; sum /= 62 {
			end = string(digitLetters + upLetters + lowLetters)[sum%62:][:1] + end
		}
		return prefix + body + end
	}
}

func jwt(m maker) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(m.fill(`{"sub":"{d9}","iss":"https://{H}/"}`))) + "." + part(m.bytes(32))
}

func pem(m maker) string {
	name := pick(m, []string{"PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY"})
	var b strings.Builder
	for text := base64.StdEncoding.EncodeToString(m.bytes(120 + m.IntN(500))); text != ""; {
		n := min(64, len(text))
		b.WriteString(text[:n] + "\n")
		text = text[n:]
	}
	return "-----BEGIN " + name + "-----\n" + b.String() + "-----END " + name + "-----"
}

// A kind of secret: names of variables that have it, and what makes it, a template or a function.
type kind struct {
	names string
	make  any
}

var kinds = []kind{
	{"GITHUB_TOKEN GH_TOKEN", summed("ghp_")},
	{"INSTALLATION_TOKEN", summed("ghs_")},
	{"GH_PAT", "github_pat_11{u9}0{b12}_{b59}"},
	{"GITLAB_TOKEN", "glpat-{w20}"},
	{"RUNNER_TOKEN", "glrt-{w20}"},
	{"GITEA_TOKEN FORGEJO_TOKEN", "{h40}"},
	{"BITBUCKET_APP_PASSWORD", "ATBB{b32}"},
	{"JIRA_API_TOKEN", "ATATT3xFfGF0{w171}={u8}"},
	{"AWS_ACCESS_KEY_ID", "AKIA{t16}"},
	{"AWS_SECRET_ACCESS_KEY", "{s40}"},
	{"AWS_SESSION_TOKEN", "IQoJb3JpZ2luX2Vj{s300}"},
	{"GEMINI_API_KEY", "AIzaSy{w33}"},
	{"GOOGLE_CLIENT_SECRET", "GOCSPX-{w28}"},
	{"GOOGLE_OAUTH_TOKEN", "ya29.a0{w160}"},
	{"ARM_CLIENT_SECRET", "{b3}8Q~{b34}"},
	{"AZURE_STORAGE_KEY AccountKey", "{s86}=="},
	{"DO_PAT", "dop_v1_{h64}"},
	{"CLOUDFLARE_API_TOKEN", "{w40}"},
	{"HCLOUD_TOKEN", "{b64}"},
	{"SCW_SECRET_KEY RAILWAY_TOKEN", "{h8}-{h4}-4{h3}-a{h3}-{h12}"},
	{"HEROKU_API_KEY", "HRKU-AA{w58}"},
	{"OPENAI_API_KEY", "sk-proj-{w74}T3BlbkFJ{w74}"},
	{"OPENAI_KEY", "sk-{b20}T3BlbkFJ{b20}"},
	{"ANTHROPIC_API_KEY", "sk-ant-api03-{_93}AA"},
	{"CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-{_93}AA"},
	{"HF_TOKEN", "hf_{L34}"},
	{"GROQ_API_KEY", "gsk_{b52}"},
	{"XAI_API_KEY", "xai-{b80}"},
	{"OPENROUTER_API_KEY", "sk-or-v1-{h64}"},
	{"REPLICATE_API_TOKEN", "r8_{b37}"},
	{"DEEPSEEK_API_KEY", "sk-{h32}"},
	{"MISTRAL_API_KEY", "{b32}"},
	{"LANGSMITH_API_KEY", "lsv2_pt_{h32}_{h10}"},
	{"SUPABASE_SECRET_KEY", "sb_secret_{w22}_{w8}"},
	{"SUPABASE_ACCESS_TOKEN", "sbp_{h40}"},
	{"PLANETSCALE_PASSWORD", "pscale_pw_{w43}"},
	{"DATABRICKS_TOKEN", "dapi{h32}"},
	{"NPM_TOKEN", summed("npm_")},
	{"PYPI_TOKEN", "pypi-AgEIcHlwaS5vcmc{_146}"},
	{"GEM_HOST_API_KEY", "rubygems_{h48}"},
	{"CARGO_REGISTRY_TOKEN", "cio{b32}"},
	{"DOCKERHUB_TOKEN", "dckr_pat_{w27}"},
	{"SLACK_BOT_TOKEN", "xoxb-{d12}-{d13}-{b24}"},
	{"SLACK_WEBHOOK_URL", "https://hooks.slack.com/services/[[T{u10}/B{u10}/{b24}]]"},
	{"DISCORD_WEBHOOK", "https://discord.com/api/webhooks/{d18}/[[{w68}]]"},
	{"TELEGRAM_BOT_TOKEN", "{d10}:AA{w33}"},
	{"TWILIO_API_KEY", "SK{h32}"},
	{"TWILIO_AUTH_TOKEN DD_API_KEY", "{h32}"},
	{"SENDGRID_API_KEY", "SG.{w22}.{w43}"},
	{"STRIPE_SECRET_KEY", "sk_live_51{b97}"},
	{"STRIPE_WEBHOOK_SECRET", "whsec_{b32}"},
	{"NEW_RELIC_API_KEY", "NRAK-{u27}"},
	{"LINEAR_API_KEY", "lin_api_{b40}"},
	{"NOTION_TOKEN", "ntn_{d11}{b35}"},
	{"FIGMA_TOKEN", "figd_{w40}"},
	{"AIRTABLE_API_KEY", "pat{b14}.{h64}"},
	{"SHOPIFY_ACCESS_TOKEN", "shpat_{h32}"},
	{"POSTMAN_API_KEY", "PMAK-{h24}-{h34}"},
	{"VERCEL_TOKEN", "{b12}7{b11}"},
	{"NETLIFY_AUTH_TOKEN", "nfp_{b36}"},
	{"FLY_API_TOKEN", "fm2_{s240}"},
	{"DOPPLER_TOKEN", "dp.pt.{b43}"},
	{"VAULT_TOKEN", "hvs.CAESI{w90}"},
	{"TFE_TOKEN", "{b14}.atlasv1.{w67}"},
	{"PULUMI_ACCESS_TOKEN", "pul-{h40}"},
	{"TS_AUTHKEY", "tskey-auth-k{b11}CNTRL-{b32}"},
	{"ACCESS_TOKEN ID_TOKEN", jwt},
	{"TOTP_SECRET MFA_SEED", "{t32}"},
	{"SESSION_SECRET ENCRYPTION_KEY", "{h64}"},
	{"SECRET_KEY_BASE JWT_SIGNING_KEY", "{s43}="},
	{"DB_PASSWORD SMTP_PASSWORD PGPASSWORD", "{P}"},
}

// documents have a secret in a form of their own.
var documents = []string{
	"DATABASE_URL=postgres://app:[[{P}]]@{H}:5432/orders\n", "connecting to redis://:[[{b24}]]@{H}:6379/0\n",
	`"DefaultConnection": "Server=tcp:{H},1433;User ID=svc;Password=[[{P}]];Encrypt=True;"` + "\n",
	"AccountName={W}{d3};AccountKey=[[{s86}==]];EndpointSuffix=core.windows.net\n",
	"https://{W}.blob.core.windows.net/dump.bak?sv=2022-11-02&sp=rl&sig=[[{b43}%3D]]\n", "jdbc:postgresql://{H}/{W}?user=app&password=[[{P}]]&ssl=true\n",
	"host={H} dbname={W} user=app password=[[{P}]] sslmode=require\n", "Cloning from https://ci:[[{P}]]@{H}/team/repo.git\n",
	"machine {H}\n  login {W}\n  password [[{P}]]\n", "{H}:5432:{W}:app:[[{P}]]\n", "//npm.example.org/:_authToken=[[{h8}-{h4}-4{h3}-a{h3}-{h12}]]\n",
	"[default]\naws_access_key_id = [[AKIA{t16}]]\naws_secret_access_key = [[{s40}]]\n", "Authorization: Bearer [[{w43}]]\n", "X-Api-Key: [[{b36}]]\n",
	"Cookie: theme=dark; sessionid=[[{h32}]]; Path=/\n", "$ curl -sS -u {W}:[[{P}]] https://{H}/api\n", "GET /v2/items?limit=50&access_token=[[{b36}]] HTTP/1.1\n",
	"otpauth://totp/{W}:anna@example.org?secret=[[{t32}]]&issuer={W}\n", "+ mysql -h {H} -u root -p[[{P}]] -e 'select 1'\n",
	"+ redis-cli -h {H} -a [[{P}]] ping\n", "$ sshpass -p '[[{P}]]' ssh deploy@{H} uptime\n", "$ mongosh -u admin -p [[{P}]] --host {H}\n",
	"$ ldapsearch -x -D cn=admin -w [[{P}]] -b dc=example\n", "$ sqlcmd -S {H} -U sa -P '[[{P}]]' -Q 'select 1'\n", "$ zip -P [[{P}]] out.zip a b\n",
	"$ htpasswd -bc .htpasswd {W} [[{P}]]\n", "$ openssl pkcs12 -in a.p12 -passin pass:[[{P}]] -nodes\n", "$ keytool -list -storepass [[{P}]]\n",
	"$ smbclient //srv/share -U {W}%[[{P}]]\n", "ALTER ROLE {W} WITH PASSWORD '[[{P}]]';\n", "CREATE LOGIN {W} WITH PASSWORD = N'[[{P}]]';\n",
	"SET PASSWORD FOR '{W}'@'localhost' = '[[{P}]]';\n", "CREATE USER {W} IDENTIFIED WITH caching_sha2_password BY '[[{P}]]';\n",
	"$ printf '%s' '[[{P}]]' | gh secret set DEPLOY_TOKEN\n", "$ echo \"[[{P}]]\" | docker login {H} -u bot --password-stdin\n", "$ echo [[{P}]] | sudo -S true\n",
	"$ gh secret set DEPLOY_TOKEN <<< '[[{P}]]'\n", "$ cat config/master.key\n[[{h32}]]\n", "+++ b/config/master.key\n@@ -0,0 +1 @@\n+[[{h32}]]\n",
	"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"{w43}\",\"y\":\"{w43}\",\"d\":\"[[{w43}]]\"}\n", "{\n \"kty\": \"OKP\",\n \"d\": \"[[{w43}]]\",\n \"x\": \"{w43}\"\n}\n",
	"{\"kty\":\"RSA\",\"n\":\"{w342}\",\"e\":\"AQAB\",\"d\":\"[[{w342}]]\",\"p\":\"[[{w171}]]\",\"qi\":\"[[{w171}]]\"}\n",
	"{\"headers\": [{\"name\": \"Accept\", \"value\": \"*/*\"}, {\"name\": \"X-Api-Key\", \"value\": \"[[{b36}]]\"}]}\n",
	"{\"headers\": [{\n  \"name\": \"Authorization\",\n  \"value\": \"Bearer [[{w43}]]\"\n}]}\n", "{\"cookies\":[{\"name\":\"session\",\"value\":\"[[{h32}]]\"}]}\n",
	`{"type":"stream_event","delta":{"partial_json":"{\"command\": \"curl -H \\\"X-Key: [[{b36}]]\\\" https://{H}/\"}"}}` + "\n",
	"+ docker login -u {W} -p [[{P}]] {H}\n", "+ ./deploy --env prod --password [[{P}]] --dry-run\n", "ansible_user: deploy\nansible_become_password: [[{P}]]\n",
}

// surroundings are texts with a variable and its value: {NAME}, {name}, {camel} and {VALUE}.
var surroundings = []string{
	"NODE_ENV=production\n{NAME}={VALUE}\nLOG_LEVEL=info\n", "HOME=/home/dev\n{NAME}='{VALUE}'\nSHLVL=1\n", "+ cd /srv/{W}\n+ export {NAME}={VALUE}\n+ make deploy\n",
	"service:\n  env:\n    - name: {NAME}\n      value: \"{VALUE}\"\n", "{W}:\n  region: eu-west-1\n  {name}: {VALUE}\n  timeout: 30s\n",
	"{\n  \"version\": \"1.4.2\",\n  \"env\": {\n    \"{NAME}\": \"{VALUE}\"\n  }\n}\n", "region = \"eu\"\n{name} = \"{VALUE}\"\ncount = 2\n",
	"Traceback (most recent call last):\n    client = Client({name}=\"{VALUE}\")\nValueError: no\n", "> host: api.example.net\n> x-{name}: {VALUE}\n> accept: */*\n",
	"import os\n\n{NAME} = \"{VALUE}\"\n\ndef main():\n    run({NAME})\n", "export const config = {\n  {camel}: '{VALUE}',\n  retries: 3,\n};\n",
	"{T} DEBUG config loaded {name}={VALUE} workers=4\n", "FROM node:20-slim\nENV {NAME}={VALUE}\nCMD [\"node\"]\n", "[{W}]\nhost = {H}\n{name} = {VALUE}\n",
	"Please finish the script. Use {VALUE} for {NAME} when you call the API.\n", "## Setup\n\n```sh\nexport {NAME}={VALUE}\n```\n",
}

// harmless look like secrets, but are not secrets.
var harmless = []string{
	"commit {h40}\nAuthor: Dev <dev@example.org>\n\n    rework the token parser ({h7})\n", "   {h9}..{h9}  main -> main\n", "100644 blob {h40}\tsrc/{W}.go\n",
	"request_id={h8}-{h4}-4{h3}-a{h3}-{h12} session_id={h8}-{h4}-4{h3}-a{h3}-{h12}\n", "{h64}  {W}-3.tar.gz\n",
	"github.com/{W}/auth-token v1.3.0/go.mod h1:{s43}=\n", `"jsonwebtoken": {"resolved": "https://registry.example.org/jsonwebtoken-2.0.1.tgz", "integrity": "sha512-{s86}=="}` + "\n",
	"name = \"secrecy\"\nchecksum = \"{h64}\"\n", "<img src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{s400}=\">\n", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC{s340} dev@ci\n",
	"-----BEGIN PUBLIC KEY-----\n{s64}\n{s64}\n-----END PUBLIC KEY-----\n", "-----BEGIN CERTIFICATE-----\n{s64}\n{s64}\n-----END CERTIFICATE-----\n",
	"aws_access_key_id = AKIAIOSFODNN7EXAMPLE\n", "curl -H 'Authorization: Bearer <YOUR_ACCESS_TOKEN>' https://api.example.net\n", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
	"OPENAI_API_KEY=sk-...\n", "postgres://user:password@localhost:5432/mydb\n", "password: <your password>\n", "token: ${TOKEN}\n", "api_key: ${{ secrets.API_KEY }}\n",
	"DB_PASSWORD=$(cat /run/secrets/db)\n", "password = var.db_password\n", "AUTH_TOKEN=%AUTH_TOKEN%\n", "token: process.env.GITHUB_TOKEN\n", "PASSWORD=********\n",
	"key: op://vault/item/field\n", "password_hash = bcrypt(password, rounds=12)\n", "authorization: Bearer $TOKEN\n", "@  {j8} dev@example.org (empty) tidy the secret store\n",
	"The token is read once per line; a token that spans two chunks is joined. Secret sharing splits a key into n shares.\n", "{\n  \"key\": \"ctrl+shift+{l1}\",\n  \"command\": \"editor.action\"\n}\n",
	"public_key_name = \"{W}-signing-key-2026\"\nkms_key_arn = \"arn:aws:kms:eu-west-1:123456789012:key/{h8}-{h4}-4{h3}-a{h3}-{h12}\"\n", "FROM ghcr.io/{W}@sha256:{h64}\n",
	"< etag: W/\"{h32}\"\n< cf-ray: {h16}-FRA\n", `{"trace_id":"{h32}","span_id":"{h16}","token_count":{d4}}` + "\n", "NEXT_PUBLIC_STRIPE_KEY=pk_live_{b24}\n",
	"dsn: \"https://{h32}@o{d6}.ingest.sentry.io/{d7}\"\n", "=== RUN   TestParseToken/{W}_secret_is_masked\n", "<path d=\"M{d3}.{d3}C{d2}.{d2}\" fill=\"#{h6}\"/>\n",
	"id,key,token_type\n{h24},ORD-{u10},bearer\n", "items.sort(key=functools.cmp_to_key(compare_versions2))\n", "self.token = Token2Factory.create_token_v2(self.request2)\n",
	`{"next_page_token": "{s40}", "sync_token": "v2:{d9}:{d2}"}` + "\n", `{"type":"tool_use","id":"toolu_01{b22}","usage":{"input_tokens":{d4}},"signature":"Er{s240}"}` + "\n",
	"pod/{W}-api-7d9f8b6c5d-{l5} 1/1 Running\n",
	"kind: SealedSecret\nspec:\n  encryptedData:\n    password: AgB{s640}==\n    API_TOKEN: AgA{s650}=\n", "encrypted_password: AQICAH{s180}\n",
	"spring.datasource.password=ENC({s44})\n", "db_password: !vault |\n  $ANSIBLE_VAULT;1.1;AES256\n  {d80}\n",
	"{\"keys\":[{\"kty\":\"RSA\",\"n\":\"{w342}\",\"e\":\"AQAB\"},{\"kty\":\"EC\",\"x\":\"{w43}\",\"y\":\"{w43}\"}]}\n",
	"{\"headers\":[{\"name\":\"etag\",\"value\":\"{h32}\"},{\"name\":\"x-request-id\",\"value\":\"{h8}-{h4}-4{h3}-a{h3}-{h12}\"}]}\n",
	"{\"id\":\"resp_{h48}\",\"output\":[{\"id\":\"msg_{h48}\"},{\"id\":\"fc_{h48}\",\"call_id\":\"call_{b24}\"}],\"chat\":\"chatcmpl-{b29}\"}\n",
	"cus_{b14} price_1{b23} acct_1{b15} pi_3{b23} pk_live_51{b97}\n", "Cache restored from key: node-cache-Linux-npm-{h64}\nimage: reg/api-{h40} prod-{h40}\n",
	"redis-cli -a $REDIS_PASSWORD -h {H} ping\nsshpass -e ssh {H}\nmongosh -p --host {H}\n", "psql -c \"ALTER ROLE app WITH PASSWORD '<password>'\"\n",
	"echo $TOKEN | docker login -u {W} --password-stdin\nprintf '%s' \"$DEPLOY\" | gh secret set DEPLOY\n", "DESKTOP_SESSION=gnome\nXDG_SESSION_ID=2\nPWD=/home/dev/x\n",
}

// A sample is a text with the ranges of its secrets.
type sample struct {
	text    string
	secrets [][2]int
}

// secretSample makes a text with a secret, in one of the encodings.
func (m maker) secretSample() sample {
	if m.IntN(4) == 0 {
		return m.encode(m.fill(pick(m, documents)))
	}
	if m.IntN(40) == 0 {
		return m.encode("$ cat key\n[[" + pem(m) + "]]\n")
	}
	k := pick(m, kinds)
	name, value := pick(m, strings.Fields(k.names)), ""
	switch form := k.make.(type) {
	case string:
		value = m.fill(form)
	case func(maker) string:
		value = form(m)
	}
	if !strings.Contains(value, "[[") {
		value = "[[" + value + "]]"
	}
	parts := strings.Split(strings.ToLower(name), "_")
	for i := range parts[1:] {
		parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
	}
	text := m.fill(pick(m, surroundings))
	return m.encode(strings.NewReplacer("{NAME}", name, "{name}", strings.ToLower(name), "{camel}", strings.Join(parts, ""), "{VALUE}", value).Replace(text))
}

// encode encodes a text as programs do, and takes out the marks around the secrets.
func (m maker) encode(text string) sample {
	quoted := func(s string) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(s)
		return strings.TrimSpace(b.String())
	}
	each := func(secret, other func(string) string) string {
		var out strings.Builder
		for i, part := range regexp.MustCompile(`\[\[|\]\]`).Split(text, -1) {
			if i%2 == 1 {
				out.WriteString("[[" + secret(part) + "]]")
			} else {
				out.WriteString(other(part))
			}
		}
		return out.String()
	}
	same := func(s string) string { return s }
	switch m.IntN(16) {
	case 0, 1:
		text = `{"seq":7,"data":` + quoted(text) + "}\n"
	case 2:
		text = `{"type":"assistant","message":` + quoted(`{"output":`+quoted(text)+"}") + "}\n"
	case 3:
		text = "payload=" + each(url.QueryEscape, url.QueryEscape) + "&v=1\n"
		text = strings.ReplaceAll(text, "+", "%20")
	case 4:
		text = each(func(s string) string { return "\x1b[32m" + s + "\x1b[0m" }, same)
		text = strings.ReplaceAll(strings.ReplaceAll(text, "[[\x1b[32m", "\x1b[32m[["), "\x1b[0m]]", "]]\x1b[0m")
	case 5:
		text = each(func(s string) string {
			n := len(s) / 3
			return s[:n] + "\x1b[01;31m\x1b[K" + s[n:2*n] + "\x1b[m\x1b[K" + s[2*n:]
		}, same)
	case 6:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case 7:
		return m.base64Sample(plain(text))
	}
	return plain(text)
}

// plain takes the marks out of a text.
func plain(text string) (s sample) {
	for i, part := range regexp.MustCompile(`\[\[|\]\]`).Split(text, -1) {
		if i%2 == 1 {
			s.secrets = append(s.secrets, [2]int{len(s.text), len(s.text) + len(part)})
		}
		s.text += part
	}
	return s
}

// base64Sample encodes a whole sample, in one line or in lines of 76 letters.
func (m maker) base64Sample(s sample) sample {
	const before = "$ base64 .env\n"
	encoded, width := base64.StdEncoding.EncodeToString([]byte(s.text)), 76
	if m.IntN(2) == 0 {
		width = 1 << 20
	}
	at := func(letter int) int { return len(before) + letter + letter/width }
	out := sample{text: before}
	for i := 0; i < len(encoded); i += width {
		out.text += encoded[i:min(len(encoded), i+width)] + "\n"
	}
	for _, r := range s.secrets {
		out.secrets = append(out.secrets, [2]int{at(r[0] / 3 * 4), at((r[1]+2)/3*4-1) + 1})
	}
	return out
}
