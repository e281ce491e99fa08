package redact_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// The author of these texts had not read the rules of the finder. The figures therefore say how
// the finder does with secrets that nobody thought of. Do not adapt a case to a rule, nor
// remove a case because it is missed.
const (
	foreignSecrets  = 100
	foreignHarmless = 40

	leastCaught     = 85
	mostFalseAlarms = 1
)

func TestForeignSecretsAreFound(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 3; seed++ {
		m := newMint(seed)
		m.vendorSecrets()
		m.namedSecrets()
		m.formedSecrets()
		require.Len(t, m.cases, foreignSecrets)
		requireDifferentKinds(t, m.cases)

		finder := redact.NewFinder(nil)
		var missed []string
		for _, c := range m.cases {
			if !c.caughtBy(finder) {
				missed = append(missed, c.kind)
			}
		}
		caught := foreignSecrets - len(missed)
		t.Logf("seed %d: caught %d of %d", seed, caught, foreignSecrets)
		assert.GreaterOrEqual(t, caught, leastCaught,
			"seed %d: %d secrets missed:\n%s", seed, len(missed), strings.Join(missed, "\n"))

		m = newMint(seed)
		m.harmlessTexts()
		require.Len(t, m.cases, foreignHarmless)
		requireDifferentKinds(t, m.cases)

		var flagged []string
		for _, c := range m.cases {
			for _, f := range finder.Find([]byte(c.text)) {
				flagged = append(flagged, c.kind+": "+f.Rule)
			}
		}
		falseAlarms := kindsAmong(flagged)
		t.Logf("seed %d: false alarms in %d of %d harmless texts", seed, falseAlarms, foreignHarmless)
		assert.LessOrEqual(t, falseAlarms, mostFalseAlarms,
			"seed %d: %d harmless texts flagged:\n%s", seed, falseAlarms, strings.Join(flagged, "\n"))
	}
}

// requireDifferentKinds fails the test if two cases have the same kind.
func requireDifferentKinds(t *testing.T, cases []foreignCase) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range cases {
		require.False(t, seen[c.kind], "two cases of the kind %q", c.kind)
		seen[c.kind] = true
	}
}

// kindsAmong returns the number of different kinds in lines of the form "kind: rule".
func kindsAmong(lines []string) int {
	kinds := map[string]bool{}
	for _, line := range lines {
		kind, _, _ := strings.Cut(line, ": ")
		kinds[kind] = true
	}
	return len(kinds)
}

// vendorSecrets adds 60 secrets in the shapes of services.
func (m *mint) vendorSecrets() {
	m.cloudSecrets()
	m.gitHostSecrets()
	m.modelSecrets()
	m.paymentSecrets()
	m.messageSecrets()
	m.registrySecrets()
	m.platformSecrets()
}

func (m *mint) cloudSecrets() {
	const base32 = upper + "234567"
	awsID := "AK" + "IA" + m.of(base32, 16)
	m.secret("AWS access key id", awsID,
		"$ aws iam list-access-keys --user-name deploy\n{\n    \"AccessKeyMetadata\": [\n        {\n            \"UserName\": \"deploy\",\n"+
			"            \"AccessKeyId\": \""+here+"\",\n            \"Status\": \"Active\",\n            \"CreateDate\": \"2025-02-11T09:41:07+00:00\"\n        }\n    ]\n}\n")
	m.secret("AWS secret access key", m.of(alnum+"+/", 40),
		"[default]\nregion = eu-central-1\naws_access_key_id = AK"+"IA"+m.of(base32, 16)+"\naws_secret_access_key = "+here+"\n")
	m.secret("AWS session token", "IQoJb3JpZ2luX2VjE"+m.of(alnum+"+/", 700)+"==",
		"Assumed role arn:aws:iam::"+m.number(12)+":role/ci-runner\nexport AWS_SESSION_TOKEN="+here+"\nexport AWS_REGION=us-west-2\n")
	m.secret("Google API key", "AI"+"zaSy"+m.of(b64url, 33),
		"  const map = new google.maps.Map(el, opts);\n  // loader\n  const src = `https://maps.googleapis.com/maps/api/js?key="+here+"&libraries=places&callback=initMap`;\n")
	m.secret("Google OAuth access token", "ya"+"29.a0"+m.of(b64url, 200),
		"$ gcloud auth print-access-token\n"+here+"\n$ gcloud run services list --region europe-west1\n")
	m.secret("Google OAuth client secret", "GOC"+"SPX-"+m.of(b64url, 28),
		`{"web":{"client_id":"`+m.number(12)+`-`+m.of(lower+digits, 32)+`.apps.googleusercontent.com","project_id":"billing-prod","auth_uri":"https://accounts.google.com/o/oauth2/auth","client_secret":"`+here+`","redirect_uris":["http://localhost:8080/callback"]}}`)
	serviceKey := strings.ReplaceAll(folded("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"+m.of(alnum+"+/", 1590)+"==", 64), "\n", `\n`)
	m.secret("Google service account", serviceKey,
		"{\n  \"type\": \"service_account\",\n  \"project_id\": \"billing-prod\",\n  \"private_key_id\": \""+m.hex(40)+"\",\n"+
			"  \"private_key\": \""+strings.ReplaceAll(armored("PRIVATE"+" KEY"), "\n", `\n`)+"\",\n"+
			"  \"client_email\": \"etl@billing-prod.iam.gserviceaccount.com\",\n  \"client_id\": \""+m.number(21)+"\"\n}\n")
	m.secret("Azure storage account key", m.of(alnum+"+/", 76)+"+A"+"St"+m.of(alnum+"+/", 5)+"w==",
		"AzureWebJobsStorage=DefaultEndpointsProtocol=https;AccountName=stinvoices;AccountKey="+here+";EndpointSuffix=core.windows.net\n")
	m.secret("Azure client secret", m.of(alnum, 3)+"8Q"+"~"+m.of(alnum+"_.~-", 34),
		"$ az ad sp create-for-rbac --name ci-deploy\n{\n  \"appId\": \""+m.uuid()+"\",\n  \"displayName\": \"ci-deploy\",\n  \"password\": \""+here+"\",\n  \"tenant\": \""+m.uuid()+"\"\n}\n")
	m.secret("Azure shared access signature", strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(m.base64(32)),
		"azcopy copy ./dist 'https://stinvoices.blob.core.windows.net/www?sp=racwdl&st=2025-03-01T08:00:00Z&se=2026-03-01T16:00:00Z&spr=https&sv=2022-11-02&sr=c&sig="+here+"' --recursive\n")
	m.secret("DigitalOcean token", "do"+"p_v1_"+m.hex(64),
		"provider \"digitalocean\" {\n  # TODO move to a variable\n  token = \""+here+"\"\n}\n")
	m.secret("Cloudflare origin CA key", "v1"+".0-"+m.hex(24)+"-"+m.hex(146),
		"curl -sX POST https://api.cloudflare.com/client/v4/certificates \\\n  -H 'X-Auth-User-Service-Key: "+here+"' \\\n  -d @csr.json\n")
}

func (m *mint) gitHostSecrets() {
	m.secret("GitHub personal token", m.checked("gh"+"p_"),
		"I'll push the branch now.\n\n$ git remote -v\norigin\thttps://"+here+"@github.com/acme/shop.git (fetch)\n")
	m.secret("GitHub fine-grained token", "github"+"_pat_11"+m.of(upper+digits, 9)+m.of(alnum, 11)+"_"+m.of(alnum, 59),
		"github.com:\n    user: mkovacs\n    oauth_token: "+here+"\n    git_protocol: https\n")
	m.secret("GitHub app token", m.checked("gh"+"s_"),
		"2025-05-14T10:22:31.7711842Z ##[debug]Evaluating: github.token\n2025-05-14T10:22:31.7713008Z ##[debug]=> '"+here+"'\n2025-05-14T10:22:31.7720115Z ##[group]Run actions/checkout@v4\n")
	m.secret("GitLab personal token", "gl"+"pat-"+m.of(b64url, 20),
		"curl --header \"PRIVATE-TOKEN: "+here+"\" \"https://gitlab.example.org/api/v4/projects/42/pipelines\"\n")
	m.secret("GitLab runner token", "gl"+"rt-"+m.of(b64url, 20),
		"concurrent = 4\n\n[[runners]]\n  name = \"builder-2\"\n  url = \"https://gitlab.example.org/\"\n  id = 17\n  token = \""+here+"\"\n  executor = \"docker\"\n")
	m.secret("Bitbucket app password", "AT"+"BB"+m.of(alnum, 24)+strings.ToUpper(m.hex(8)),
		"Cloning into 'infra'...\nfatal: unable to access 'https://jsmith:"+here+"@bitbucket.org/acme/infra.git/': The requested URL returned error: 403\n")
}

func (m *mint) modelSecrets() {
	m.secret("OpenAI project key", "sk"+"-proj-"+m.of(b64url, 74)+"T3Blbk"+"FJ"+m.of(b64url, 74),
		"openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key provided: "+here+". You can find your API key at https://platform.openai.com/account/api-keys.', 'type': 'invalid_request_error'}}\n")
	m.secret("Anthropic key", "sk"+"-ant-api03-"+m.of(b64url, 93)+"AA",
		"{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01"+m.of(alnum, 22)+"\",\"content\":\"ANTHROPIC_API_KEY="+here+"\\nLOG_LEVEL=debug\\n\"}\n")
	m.secret("Hugging Face token", "h"+"f_"+m.of(upper+lower, 34),
		">>> from huggingface_hub import login\n>>> login(\""+here+"\")\nToken is valid (permission: read).\n")
	m.secret("Groq key", "gs"+"k_"+m.of(alnum, 52),
		"client = Groq(api_key=\""+here+"\")\nresp = client.chat.completions.create(model=\"llama-3.3-70b-versatile\", messages=msgs)\n")
	m.secret("xAI key", "xa"+"i-"+m.of(alnum, 80),
		"> POST /v1/chat/completions HTTP/2\n> Host: api.x.ai\n> authorization: Bearer "+here+"\n> content-type: application/json\n")
	m.secret("OpenRouter key", "sk"+"-or-v1-"+m.hex(64),
		"please use this openrouter key for the eval run: "+here+" and stop after 50 prompts\n")
	m.secret("Replicate token", "r"+"8_"+m.of(alnum, 37),
		"\x1b[90m~/app\x1b[0m \x1b[32m❯\x1b[0m REPLICATE_API_TOKEN="+here+" node scripts/upscale.mjs\n")
	m.secret("Perplexity key", "pp"+"lx-"+m.of(alnum, 48),
		"llm:\n  provider: perplexity\n  model: sonar-pro\n  key: "+here+"\n  timeout: 30s\n")
	m.secret("NVIDIA key", "nv"+"api-"+m.of(b64url, 64),
		"docker run --rm -e NGC_API_KEY="+here+" -p 8000:8000 nvcr.io/nim/meta/llama-3.1-8b-instruct:latest\n")
	m.secret("LangSmith key", "ls"+"v2_pt_"+m.hex(32)+"_"+m.hex(10),
		"LANGCHAIN_TRACING_V2=true\nLANGCHAIN_ENDPOINT=https://api.smith.langchain.com\nLANGCHAIN_API_KEY=\""+here+"\"\nLANGCHAIN_PROJECT=support-bot\n")
}

func (m *mint) paymentSecrets() {
	m.secret("Stripe live key", "sk"+"_live_51"+m.of(alnum, 97),
		"import Stripe from 'stripe';\n\nexport const stripe = new Stripe('"+here+"', {\n  apiVersion: '2024-06-20',\n});\n")
	m.secret("Stripe webhook secret", "wh"+"sec_"+m.of(alnum, 32),
		"> Ready! You are using Stripe API Version [2024-06-20]. Your webhook signing secret is "+here+" (^C to quit)\n")
	m.secret("Square access token", "EA"+"AA"+m.of(b64url, 60),
		"Square.configure do |c|\n  c.environment = 'production'\n  c.access_token = '"+here+"'\nend\n")
	m.secret("Braintree access token", "access"+"_token$production$"+m.of(lower+digits, 16)+"$"+m.hex(32),
		"gateway = braintree.BraintreeGateway(access_token=\""+here+"\")\n")
	m.secret("Shopify admin token", "shp"+"at_"+m.hex(32),
		"fetch('https://acme-store.myshopify.com/admin/api/2024-07/orders.json', {\n  headers: { 'X-Shopify-Access-Token': '"+here+"' },\n})\n")
}

func (m *mint) messageSecrets() {
	m.secret("Slack bot token", "xo"+"xb-"+m.number(12)+"-"+m.number(13)+"-"+m.of(alnum, 24),
		"slack_sdk.web.client DEBUG Sending a request - url: https://slack.com/api/chat.postMessage, params: {}, headers: {'Authorization': 'Bearer "+here+"', 'User-Agent': 'Python/3.12.1 slackclient/3.27.1'}\n")
	m.secret("Slack webhook", "T"+m.of(upper+digits, 10)+"/B"+m.of(upper+digits, 10)+"/"+m.of(alnum, 24),
		"      - name: notify\n        run: |\n          curl -X POST -H 'Content-type: application/json' --data '{\"text\":\"deployed\"}' https://hooks.slack"+".com/services/"+here+"\n")
	m.secret("Discord bot token", strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(m.number(19))), "=")+"."+m.of(b64url, 6)+"."+m.of(b64url, 38),
		"const client = new Client({ intents: [GatewayIntentBits.Guilds] });\nclient.login('"+here+"');\n")
	m.secret("Discord webhook", m.number(19)+"/"+m.of(b64url, 68),
		"alerts:\n  - kind: discord\n    url: https://discord"+".com/api/webhooks/"+here+"\n    on: [failure]\n")
	m.secret("Telegram bot token", m.number(10)+":AA"+m.of(b64url, 33),
		"httpx.HTTPStatusError: Client error '409 Conflict' for url 'https://api.telegram.org/bot"+here+"/getUpdates'\n")
	m.secret("SendGrid key", "S"+"G."+m.of(b64url, 22)+"."+m.of(b64url, 43),
		"spring.mail.host=smtp.sendgrid.net\nspring.mail.port=587\nspring.mail.username=apikey\nspring.mail.password="+here+"\n")
	m.secret("Mailgun key", m.hex(32)+"-"+m.hex(8)+"-"+m.hex(8),
		"curl -s --user 'api:"+here+"' \\\n    https://api.eu.mailgun.net/v3/mg.example.org/messages \\\n    -F from='Shop <no-reply@mg.example.org>' -F to=dev@example.org -F subject=hi -F text=test\n")
	m.secret("Mailchimp key", m.hex(32)+"-us"+m.of("123456789", 1),
		"mailchimp.setConfig({ apiKey: \""+here+"\", server: \"us6\" });\n")
	m.secret("Twilio auth token", m.hex(32),
		"curl -X POST https://api.twilio.com/2010-04-01/Accounts/AC"+m.hex(32)+"/Messages.json \\\n  --data-urlencode 'Body=Your code is 482913' \\\n  -u $TWILIO_ACCOUNT_SID:"+here+"\n")
}

func (m *mint) registrySecrets() {
	m.secret("npm token", m.checked("np"+"m_"),
		"registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken="+here+"\nalways-auth=true\n")
	m.secret("PyPI token", "py"+"pi-AgEIcHlwaS5vcmcCJ"+m.of(b64url, 158),
		"[distutils]\nindex-servers = pypi\n\n[pypi]\nusername = __token__\npassword = "+here+"\n")
	m.secret("RubyGems key", "ruby"+"gems_"+m.hex(48),
		"---\n:rubygems_api_key: "+here+"\n")
	m.secret("Docker Hub token", "dckr"+"_pat_"+m.of(b64url, 27),
		"$ echo "+here+" | docker login -u acmebot --password-stdin\nLogin Succeeded\n")
	m.secret("crates.io token", "ci"+"o"+m.of(alnum, 32),
		"$ cargo login "+here+"\n       Login token for `crates-io` saved\n$ cargo publish --dry-run\n")
}

func (m *mint) platformSecrets() {
	m.secret("Heroku token", "HR"+"KU-AA"+m.of(b64url, 58),
		"machine api.heroku.com\n  login ops@example.org\n  password "+here+"\n")
	m.secret("Fly token", "fm"+"2_lJPECAAAAAAAA"+m.of(alnum+"+/", 420)+"==",
		"$ fly tokens create deploy -x 999999h\nFlyV1 "+here+"\n")
	m.secret("Terraform Cloud token", m.of(alnum, 14)+".atlas"+"v1."+m.of(alnum, 67),
		"{\n  \"credentials\": {\n    \"app.terraform.io\": {\n      \"token\": \""+here+"\"\n    }\n  }\n}\n")
	m.secret("Vault token", "hv"+"s.CAESI"+m.of(b64url, 88),
		"Key                  Value\n---                  -----\ntoken                "+here+"\ntoken_accessor       "+m.of(alnum, 24)+"\ntoken_duration       768h\n")
	m.secret("CircleCI token", "CCI"+"PAT_"+m.of(alnum, 22)+"_"+m.hex(40),
		"requests.get(url, headers={\"Circle-Token\": \""+here+"\"}, timeout=10)\n")
	m.secret("Databricks token", "da"+"pi"+m.hex(32),
		"[DEFAULT]\nhost  = https://adb-"+m.number(16)+".4.azuredatabricks.net\ntoken = "+here+"\n")
	m.secret("Supabase access token", "sb"+"p_"+m.hex(40),
		"● Bash(npx supabase login --token "+here+")\n  ⎿  You are now logged in. Happy coding!\n")
	m.secret("Grafana service account token", "gl"+"sa_"+m.of(alnum, 32)+"_"+m.hex(8),
		"datasource:\n  url: https://grafana.example.org\n  headers:\n    Authorization: \"Bearer "+here+"\"\n")
	sentry := base64.StdEncoding.EncodeToString([]byte(`{"iat":17` + m.of(digits, 8) + `.482193,"url":"https://sentry.io","region_url":"https://us.sentry.io","org":"acme"}`))
	m.secret("Sentry organization token", "sn"+"trys_"+sentry+"_"+m.of(alnum+"+/", 43),
		"[defaults]\norg=acme\nproject=shop-web\n\n[auth]\ntoken="+here+"\n")
	m.secret("Atlassian token", "ATA"+"TT3xFfGF0"+m.of(b64url, 171)+"="+strings.ToUpper(m.hex(8)),
		"jira = JIRA(server=\"https://acme.atlassian.net\", basic_auth=(\"bot@example.org\", \""+here+"\"))\n")
	m.secret("Linear key", "lin"+"_api_"+m.of(alnum, 40),
		"\"mcpServers\": {\n  \"linear\": {\n    \"command\": \"npx\",\n    \"args\": [\"-y\", \"linear-mcp\"],\n    \"env\": {\"LINEAR_API_KEY\": \""+here+"\"}\n  }\n}\n")
	m.secret("Notion token", "nt"+"n_"+m.number(11)+m.of(alnum, 35),
		"const notion = new Client({ auth: \""+here+"\" });\nconst page = await notion.pages.retrieve({ page_id });\n")
	m.secret("Tailscale auth key", "ts"+"key-auth-k"+m.of(alnum, 11)+"CNTRL-"+m.of(alnum, 32),
		"runcmd:\n  - curl -fsSL https://tailscale.com/install.sh | sh\n  - tailscale up --authkey="+here+" --ssh\n")
}

// namedSecrets adds 25 secrets that the names beside them give away.
func (m *mint) namedSecrets() {
	m.configuredSecrets()
	m.programmedSecrets()
}

func (m *mint) configuredSecrets() {
	m.secret("dotenv password", m.password(18),
		"NODE_ENV=production\nPORT=3000\nDB_HOST=db.internal\nDB_USER=shop\nDB_PASSWORD="+here+"\nREDIS_DB=2\n")
	m.secret("Kubernetes secret", base64.StdEncoding.EncodeToString([]byte(m.password(22))),
		"apiVersion: v1\nkind: Secret\nmetadata:\n  name: grafana-admin\n  namespace: monitoring\ntype: Opaque\ndata:\n  admin-user: YWRtaW4=\n  admin-password: "+here+"\n")
	m.secret("Compose password", m.phrase(),
		"services:\n  db:\n    image: postgres:16-alpine\n    environment:\n      POSTGRES_USER: shop\n      POSTGRES_PASSWORD: "+here+"\n      POSTGRES_DB: shop\n    ports: [\"5432:5432\"]\n")
	m.secret("Terraform variables", m.password(20),
		"region      = \"eu-west-1\"\ninstance    = \"db.t4g.medium\"\ndb_username = \"root\"\ndb_password = \""+here+"\"\nmulti_az    = true\n")
	m.secret("Spring datasource", m.password(14),
		"spring.datasource.url=jdbc:mysql://db.internal:3306/orders\nspring.datasource.username=orders\nspring.datasource.password="+here+"\nspring.jpa.hibernate.ddl-auto=validate\n")
	m.secret("Rails secret key base", m.hex(128),
		"production:\n  secret_key_base: "+here+"\n  database_pool: 10\n")
	m.secret("Laravel application key", m.base64(32),
		"APP_NAME=Shop\nAPP_ENV=production\nAPP_KEY=base64:"+here+"\nAPP_DEBUG=false\nAPP_URL=https://shop.example.org\n")
	m.secret("Helm value", m.hex(32),
		"datadog:\n  site: datadoghq.eu\n  apiKey: "+here+"\n  clusterName: prod-1\n  logs:\n    enabled: true\n")
	m.secret("Maven server password", m.password(16),
		"<settings>\n  <servers>\n    <server>\n      <id>nexus-releases</id>\n      <username>deployer</username>\n      <password>"+here+"</password>\n    </server>\n  </servers>\n</settings>\n")
	m.secret("NuGet source password", m.of(lower+digits, 52),
		"<packageSourceCredentials>\n  <AcmeFeed>\n    <add key=\"Username\" value=\"build\" />\n    <add key=\"ClearTextPassword\" value=\""+here+"\" />\n  </AcmeFeed>\n</packageSourceCredentials>\n")
	m.secret("Dockerfile environment", m.base64(32),
		"FROM node:22-slim\nWORKDIR /app\nCOPY . .\nENV NEXTAUTH_URL=https://app.example.org\nENV NEXTAUTH_SECRET="+here+"\nRUN npm ci && npm run build\n")
	m.secret("WireGuard key", m.base64(32),
		"[Interface]\nAddress = 10.8.0.2/24\nPrivateKey = "+here+"\nDNS = 10.8.0.1\n\n[Peer]\nEndpoint = vpn.example.org:51820\nAllowedIPs = 0.0.0.0/0\n")
	m.secret("Redis configuration", m.password(24),
		"bind 127.0.0.1 -::1\nport 6379\nrequirepass "+here+"\nappendonly yes\n")
	m.secret("Ansible variable", m.phrase(),
		"[web]\nweb1.example.org ansible_user=deploy ansible_become_pass='"+here+"'\n")
}

func (m *mint) programmedSecrets() {
	m.secret("Python keyword argument", m.of(alnum, 32),
		"oauth.register(\n    name=\"corp\",\n    client_id=\"shop-web\",\n    client_secret='"+here+"',\n    server_metadata_url=CONF_URL,\n)\n")
	m.secret("Django secret key", "django-insecure-"+m.of(lower+digits+"!@#$%^&*(-_=+)", 50),
		"# SECURITY WARNING: keep the secret key used in production secret!\nSECRET_KEY = '"+here+"'\n\nDEBUG = True\n")
	m.secret("JavaScript constant", m.of(alnum, 40),
		"-const apiKey = process.env.WEATHER_KEY;\n+const apiKey = \""+here+"\"; // FIXME\n const base = \"https://api.weather.example\";\n")
	m.secret("Go struct literal", m.of(b64url, 43),
		"\tclient := vendor.New(vendor.Config{\n\t\tBaseURL:   \"https://api.vendor.example/v2\",\n\t\tAuthToken: \""+here+"\",\n\t\tTimeout:   10 * time.Second,\n\t})\n")
	m.secret("JSON settings of .NET", m.of(alnum, 36),
		"{\n  \"Logging\": { \"LogLevel\": { \"Default\": \"Information\" } },\n  \"Payments\": {\n    \"Endpoint\": \"https://pay.example.org\",\n    \"ApiKey\": \""+here+"\"\n  }\n}\n")
	m.secret("PHP constant", m.of(alnum+"!@#%^&*()-_ []{}<>~+=,.;:/?|", 64),
		"define('DB_NAME', 'wordpress');\ndefine('AUTH_KEY',         '"+here+"');\n")
	m.secret("escaped tool output", m.of(b64url, 40),
		`{"type":"item.completed","item":{"id":"item_7","type":"command_execution","command":"bash -lc 'cat .env'","aggregated_output":"CLOUDFLARE_ACCOUNT_ID=`+m.hex(32)+`\nCLOUDFLARE_API_TOKEN=`+here+`\n","exit_code":0}}`+"\n")
	m.secret("PowerShell variable", m.of(alnum, 24),
		"PS C:\\src\\web> $env:VERCEL_TOKEN = \""+here+"\"\nPS C:\\src\\web> vercel deploy --prod\n")
	m.secret("fish variable", m.hex(40),
		"set -gx GITEA_TOKEN "+here+"\nset -gx EDITOR nvim\n")
	m.secret("SQL statement", m.password(15),
		"mysql> CREATE USER 'report'@'%' IDENTIFIED BY '"+here+"';\nQuery OK, 0 rows affected (0.02 sec)\n")
	m.secret("coloured log", m.password(20),
		"\x1b[36mINFO\x1b[0m[0003] connecting to broker                          \x1b[36mhost\x1b[0m=mq.internal \x1b[36muser\x1b[0m=svc \x1b[36mpassword\x1b[0m="+here+" \x1b[36mtls\x1b[0m=true\n")
}

// formedSecrets adds 15 secrets that the form of the text around them gives away.
func (m *mint) formedSecrets() {
	m.secret("database address", m.of(alnum, 16),
		"psycopg2.OperationalError: could not translate host name in \"postgresql://shop:"+here+"@db.internal:5432/shop?sslmode=require\"\n")
	m.secret("cache address without a user", m.hex(32),
		"worker: celery -A app worker --broker redis://:"+here+"@cache.internal:6379/0 --loglevel=info\n")
	m.secret("git address of a company", m.of(alnum, 28),
		"[url \"https://build-bot:"+here+"@git.corp.example/\"]\n\tinsteadOf = https://git.corp.example/\n")
	m.secret("bearer header", m.of(b64url, 48),
		"curl -sS https://api.internal.example/v1/users/me -H \"Accept: application/json\" -H \"Authorization: Bearer "+here+"\" | jq .\n")
	m.secret("basic header", base64.StdEncoding.EncodeToString([]byte("admin:"+m.password(16))),
		"> GET /api/v2/jobs HTTP/1.1\n> Host: ci.example.org\n> Authorization: Basic "+here+"\n> User-Agent: curl/8.5.0\n> Accept: */*\n>\n< HTTP/1.1 200 OK\n")
	m.secret("session cookie", "s%3A"+m.of(b64url, 32)+"."+m.of(alnum, 43),
		"curl 'https://app.example.org/api/cart' -H 'accept: application/json' -H 'cookie: theme=dark; connect.sid="+here+"; lang=en' --compressed\n")
	m.secret("curl user", m.phrase(),
		"$ curl -u jenkins:"+here+" -O https://artifacts.example.org/repository/raw/app-1.4.2.tar.gz\n")
	m.secret("mysql option", m.password(14),
		"+ mysqldump -h db.internal -u backup -p"+here+" --single-transaction orders\n")
	m.secret("OpenSSH private key", folded(base64.StdEncoding.EncodeToString(
		append([]byte("openssh-key-v1\x00\x00\x00\x00\x04none\x00\x00\x00\x04none\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x003\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 "), m.bytes(200)...)), 70),
		"$ cat ~/.ssh/id_ed25519\n"+armored("OPENSSH"+" PRIVATE"+" KEY"))
	m.secret("RSA private key", folded("MIIEpAIBAAKCAQEA"+m.of(alnum+"+/", 1574)+"==", 64),
		"[Tool result: Read]\n"+armored("RSA"+" PRIVATE"+" KEY")+"[exit 0]\n")
	m.secret("netrc", m.password(20),
		"machine nexus.example.org login ci password "+here+"\n")
	m.secret("signed token", m.signedToken(`{"sub":"`+m.number(8)+`","email":"eva@example.org","role":"admin","iat":17`+m.of(digits, 8)+`}`),
		"[14:02:11.208] DEBUG (api/4121): session refreshed {\"user\":\"eva\",\"jwt\":\""+here+"\",\"ms\":12}\n")
	m.secret("Docker configuration", base64.StdEncoding.EncodeToString([]byte("robot$ci:"+m.of(alnum, 32))),
		"{\n\t\"auths\": {\n\t\t\"harbor.example.org\": {\n\t\t\t\"auth\": \""+here+"\"\n\t\t}\n\t}\n}\n")
	m.secret("connection string of SQL Server", m.password(16),
		"System.Data.SqlClient.SqlException: Login failed. ConnectionString was Server=tcp:sql1.example.org,1433;Initial Catalog=Orders;User ID=app;Password="+here+";Encrypt=True;\n")
	m.secret("pgpass", m.password(18),
		"$ cat ~/.pgpass\ndb.internal:5432:shop:shop:"+here+"\n")
}

// harmlessTexts adds 40 texts without a secret, with much in them that looks like one.
func (m *mint) harmlessTexts() {
	m.harmlessHistory()
	m.harmlessReferences()
	m.harmlessCode()
	m.harmlessLogs()
}

func (m *mint) harmlessHistory() {
	m.harmless("git log", "commit "+m.hex(40)+"\nMerge: "+m.hex(9)+" "+m.hex(9)+"\nAuthor: Eva Lind <eva@example.org>\nDate:   Tue May 13 18:04:55 2025 +0200\n\n    auth: refresh the token before it expires\n")
	m.harmless("git diff", "diff --git a/src/auth/token.ts b/src/auth/token.ts\nindex "+m.hex(7)+".."+m.hex(7)+" 100644\n--- a/src/auth/token.ts\n+++ b/src/auth/token.ts\n@@ -10,6 +10,7 @@ export function readToken() {\n   const token = store.get('token');\n+  if (!token) throw new MissingToken();\n   return token;\n")
	m.harmless("jj log", "@  "+m.of("klmnopqrstuvwxyz", 8)+" eva@example.org 2025-05-14 10:02:11 "+m.hex(8)+"\n│  (no description set)\n○  "+m.of("klmnopqrstuvwxyz", 32)+" eva@example.org 2025-05-13 18:04:55 main "+m.hex(40)+"\n│  rotate the password of the test database\n~\n")
	m.harmless("package-lock", "    \"node_modules/jsonwebtoken\": {\n      \"version\": \"9.0.2\",\n      \"resolved\": \"https://registry.npmjs.org/jsonwebtoken/-/jsonwebtoken-9.0.2.tgz\",\n      \"integrity\": \"sha512-"+m.base64(64)+"\",\n      \"license\": \"MIT\"\n    },\n")
	m.harmless("go.sum", "github.com/golang-jwt/jwt/v5 v5.2.1 h1:"+m.base64(32)+"\ngithub.com/golang-jwt/jwt/v5 v5.2.1/go.mod h1:"+m.base64(32)+"\n")
	m.harmless("Cargo.lock", "[[package]]\nname = \"secrecy\"\nversion = \"0.8.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \""+m.hex(64)+"\"\n")
	m.harmless("uv.lock", "sdist = { url = \"https://files.pythonhosted.org/packages/"+m.hex(2)+"/"+m.hex(2)+"/"+m.hex(60)+"/tokenizers-0.21.0.tar.gz\", hash = \"sha256:"+m.hex(64)+"\", size = 343021 }\n")
	m.harmless("image digest", "latest: Pulling from library/redis\nDigest: sha256:"+m.hex(64)+"\nStatus: Downloaded newer image for redis:latest\ndocker.io/library/redis:latest\n")
	m.harmless("checksums", m.hex(64)+"  dist/app_linux_amd64.tar.gz\n"+m.hex(64)+"  dist/app_darwin_arm64.tar.gz\n"+m.hex(32)+"  MD5SUMS\n")
	m.harmless("build id", "bin/app: ELF 64-bit LSB executable, x86-64, version 1 (SYSV), statically linked, Go BuildID="+m.of(b64url, 20)+"/"+m.of(b64url, 20)+"/"+m.of(b64url, 20)+"/"+m.of(b64url, 20)+", BuildID[sha1]="+m.hex(40)+", with debug_info, not stripped\n")
	m.harmless("nix store", "copying path '/nix/store/"+m.of("0123456789abcdfghijklmnpqrsvwxyz", 32)+"-openssl-3.0.13' from 'https://cache.nixos.org'...\n")
}

func (m *mint) harmlessReferences() {
	m.harmless("placeholder", "export OPENAI_API_KEY=YOUR_API_KEY\nexport STRIPE_SECRET_KEY=<your-stripe-secret-key>\n")
	m.harmless("example dotenv", "# copy to .env\nDB_USER=postgres\nDB_PASSWORD=changeme\nJWT_SECRET=replace-me-with-a-long-random-string\nSENDGRID_API_KEY=\nSMTP_PASSWORD=xxxxxxxx\n")
	m.harmless("compose reference", "    environment:\n      POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?missing}\n      API_TOKEN: ${TOKEN}\n      SECRET_KEY: \"$SECRET_KEY\"\n")
	m.harmless("curl reference", "curl -H \"Authorization: Bearer $GITHUB_TOKEN\" -u \"$USER:${API_PASSWORD}\" https://api.github.com/repos/acme/shop/issues\n")
	m.harmless("workflow reference", "        env:\n          NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n          AWS_SECRET_ACCESS_KEY: ${{ secrets.AWS_SECRET_ACCESS_KEY }}\n          GITHUB_TOKEN: ${{ github.token }}\n")
	m.harmless("environment in code", "const apiKey = process.env.OPENAI_API_KEY ?? '';\nsecret = os.environ[\"CLIENT_SECRET\"]\npassword := os.Getenv(\"DB_PASSWORD\")\n")
	m.harmless("terraform reference", "resource \"aws_db_instance\" \"main\" {\n  username = var.db_username\n  password = random_password.db.result\n  kms_key_id = aws_kms_key.db.arn\n}\n")
	m.harmless("Kubernetes reference", "        - name: DATABASE_PASSWORD\n          valueFrom:\n            secretKeyRef:\n              name: shop-db-credentials\n              key: password\n")
	m.harmless("masked values", "Logged in to github.com account eva (keyring)\n  - Token: gh"+"o_************************************\n  - Token scopes: 'gist', 'read:org', 'repo'\nusing OpenAI key sk-...x7Qa\n")
	m.harmless("address with a reference", "DATABASE_URL=postgres://shop:${DB_PASSWORD}@db.internal:5432/shop\ngit clone https://oauth2:$CI_JOB_TOKEN@gitlab.example.org/acme/shop.git\nredis://cache.internal:6379/0\n")
	m.harmless("documentation of AWS", "Set the access key, for example AKIAIOSFODNN7EXAMPLE, and the secret key, for example wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY, with `aws configure`.\n")
}

func (m *mint) harmlessCode() {
	m.harmless("style sheet", ".btn-primary{--tw-shadow:0 1px 3px 0 #0000001a;background-color:#1d4ed8;color:#f8fafc}.token.keyword{color:#c678dd}._auth_"+m.of(alnum, 5)+"_12{margin:0 auto;transition:all .15s cubic-bezier(.4,0,.2,1)}\n")
	m.harmless("image", "<img alt=\"key\" src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAYAAAAf8/9hAAAA"+m.base64(300)+"\">\n")
	m.harmless("SSH public key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"+m.of(alnum+"+/", 43)+" eva@laptop\n")
	m.harmless("PEM public key", "-----BEGIN PUBLIC KEY-----\n"+folded("MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA"+m.of(alnum+"+/", 338)+"IDAQAB", 64)+"\n-----END PUBLIC KEY-----\n")
	m.harmless("certificate", "-----BEGIN CERTIFICATE-----\n"+folded("MIIDdzCCAl+gAwIBAgIE"+m.of(alnum+"+/", 1156)+"==", 64)+"\n-----END CERTIFICATE-----\n")
	m.harmless("type declaration", "export interface LoginRequest {\n  username: string;\n  password: string;\n  apiKey?: string | undefined;\n  accessToken: AccessTokenPayload;\n}\n")
	m.harmless("token handling", "def get_token(secret_name: str) -> str:\n    token = client.get_secret_value(SecretId=secret_name)[\"SecretString\"]\n    self.password = hash_password(password, salt)\n    return token\n")
	m.harmless("form field", "<input type=\"password\" id=\"current-password\" name=\"password\" autocomplete=\"current-password\" placeholder=\"Enter your password\" required>\n")
	m.harmless("source map", "{\"version\":3,\"sources\":[\"../src/secret.ts\"],\"names\":[\"apiKey\",\"token\"],\"mappings\":\"AAAA,SAASA,KAAKC,GACZ,OAAOA,EAAEC,QAAQ,OAAQ,IAAIC,cAC/B\",\"file\":\"secret.js\"}\n")
}

func (m *mint) harmlessLogs() {
	m.harmless("request ids", "2025-05-14T10:22:31.771Z INFO  http request_id="+m.uuid()+" method=POST path=/oauth/token status=200 bytes=1184 duration=41.3ms\n")
	m.harmless("token usage", "{\"type\":\"message\",\"id\":\"msg_01"+m.of(alnum, 22)+"\",\"model\":\"claude-sonnet-4-20250514\",\"stop_reason\":\"tool_use\",\"usage\":{\"input_tokens\":18234,\"cache_read_input_tokens\":120344,\"output_tokens\":812}}\n")
	m.harmless("tool call", "{\"type\":\"tool_use\",\"id\":\"toolu_01"+m.of(alnum, 22)+"\",\"name\":\"Grep\",\"input\":{\"pattern\":\"password|secret|api[_-]?key\",\"path\":\"/home/eva/src/shop\"}}\n")
	m.harmless("trace ids", "traceparent: 00-"+m.hex(32)+"-"+m.hex(16)+"-01\nx-amzn-trace-id: Root=1-"+m.hex(8)+"-"+m.hex(24)+"\netag: \""+m.hex(32)+"\"\n")
	m.harmless("pods", "NAME                              READY   STATUS    RESTARTS   AGE\nauth-token-service-"+m.of("bcdfghjklmnpqrstvwxz2456789", 10)+"-"+m.of("bcdfghjklmnpqrstvwxz2456789", 5)+"   1/1     Running   0          4d2h\nvault-0                           1/1     Running   1          17d\n")
	m.harmless("Go stack trace", "goroutine 34 [running]:\ngithub.com/acme/shop/auth.(*TokenStore).Get(0xc0001"+m.hex(5)+", {0xc0002"+m.hex(5)+", 0x24})\n\t/home/eva/src/shop/auth/tokenstore.go:88 +0x1a5\nexit status 2\n")
	m.harmless("failed login", "FATAL:  password authentication failed for user \"shop\"\nDETAIL:  Connection matched file \"/var/lib/postgresql/data/pg_hba.conf\" line 128: \"host all all all scram-sha-256\"\n")
	m.harmless("ids of resources", "Created cus_"+m.of(alnum, 14)+" with price_1"+m.of(alnum, 23)+" in acct_1"+m.of(alnum, 15)+"; arn:aws:secretsmanager:eu-west-1:"+m.number(12)+":secret:prod/db-"+m.of(alnum, 6)+"\n")
	m.harmless("signed commit", "gpg: Signature made Wed May 14 10:22:31 2025 CEST\ngpg:                using RSA key "+strings.ToUpper(m.hex(40))+"\ngpg: Good signature from \"Eva Lind <eva@example.org>\" [ultimate]\n"+
		fmt.Sprintf("Primary key fingerprint: %s\n", strings.ToUpper(m.hex(4)+" "+m.hex(4)+" "+m.hex(4)+" "+m.hex(4)+" "+m.hex(4)+"  "+m.hex(4)+" "+m.hex(4)+" "+m.hex(4)+" "+m.hex(4)+" "+m.hex(4))))
}
