package redact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/git-smithers/git-smithers/internal/redact"
)

// formats are forms of tokens of 2025 and 2026, by service. No secret is in the repository: a seed fills the holes; see maker. Every
// third of the first services, in this order, was set aside while the rules were written: decision 69 has the figures.
var formats = []struct{ service, forms string }{
	{"Apify", "apify_api_{b36}"},
	{"Atlassian", "ATCTT3xFfGN0{w171}={u8} ATATT3{w180}={u8} ATTA{h72}"},
	{"AWS Bedrock", "bedrock-api-key-{s400}"},
	{"Azure DevOps", "{b76}AZDO{b4}"},
	{"Brevo", "xkeysib-{h64}-{b16} xsmtpsib-{h64}-{b16}"},
	{"Browserbase", "bb_live_{b27}"},
	{"Buildkite", "bkua_{h40} bkaa_{b75} bkaj_{b60} bkct_{b40}"},
	{"Cerebras", "csk-{l48}"},
	{"CircleCI", "CCIPAT_{b22}_{h40} CCIPRJ_{b22}_{h40}"},
	{"Contentful", "CFPAT-{w43}"},
	{"Convex", "prod:happy-otter-123|{s120}="},
	{"Cursor", "crsr_{h64} key_{h64}"},
	{"Daytona", "dtn_{h64}"},
	{"Deno", "ddp_{b36} ddo_{b36}"},
	{"Docker", "dckr_oat_{w32}"},
	{"Dropbox", "sl.u.{_600}"},
	{"E2B", "e2b_{h40} sk_e2b_{h40}"},
	{"ElevenLabs", "sk_{h48}"},
	{"Firecrawl", "fc-{h32} fco_{b40}"},
	{"Fireworks", "fw_{b24}"},
	{"GitHub", "ghs_123456_eyJhbGciOiJSUzI1NiJ9.eyJ{b200}.{w200}"},
	{"GitLab", "glrtr-{w20} glffct-{w20} acme-glpat-{w20} glsoat-{w20} glagent-{w50}"},
	{"Google AI Studio", "AQ.Ab8{w48}"},
	{"Helicone", "sk-helicone-{b7}-{b7}-{b7}-{b7}"},
	{"Hugging Face", "api_org_{L34}"},
	{"Inngest", "signkey-prod-{h64}"},
	{"JFrog", "cmVmdGtu{b56}"},
	{"Jina", "jina_{h32}{w28}"},
	{"Langfuse", "sk-lf-{h8}-{h4}-4{h3}-a{h3}-{h12}"},
	{"Linear", "lin_wh_{b40}"},
	{"LlamaCloud", "llx-{b48}"},
	{"MailerSend", "mlsn.{h64}"},
	{"Mapbox", "sk.eyJ1Ijoi{b80}.{w22}"},
	{"Modal", "ak-{b22} as-{b22}"},
	{"Neon", "napi_{b64}"},
	{"NVIDIA", "nvapi-{w64}"},
	{"Ory", "ory_pat_{b32} ory_at_{w43}.{w43}"},
	{"Packagist", "packagist_ort_{h68} packagist_uut_{h68}"},
	{"Paddle", "pdl_live_apikey_01{l24}_{b22}_{b3} pdl_sdbx_apikey_01{l24}_{b22}_{b3}"},
	{"Pinecone", "pcsk_{b6}_{b63}"},
	{"PlanetScale", "pscale_tkn_{w43}"},
	{"Polar", "polar_oat_{b43} polar_pat_{b43}"},
	{"PostHog", "phx_{b43} phs_{b43}"},
	{"Prefect", "pnu_{b36} pnb_{b36}"},
	{"Render", "rnd_{b32}"},
	{"Resend", "re_{b8}_{b24}"},
	{"RunPod", "rpa_{u44}"},
	{"Slack", "xoxe.xoxp-1-{b160} xoxe-1-{b146} xapp-1-A{u10}-{d13}-{h64}"},
	{"Sourcegraph", "sgp_{h16}_{h40} sgp_local_{h40} sgp_{h40} slk_{h64}"},
	{"Stripe", "sk_org_live_{b60}"},
	{"Tavily", "tvly-dev-{b32} tvly-prod-{b32}"},
	{"Temporal", "tmprl_{b32}_{b32}"},
	{"Together", "tgp_v1_{w43}"},
	{"Trigger.dev", "tr_prod_{b24} tr_dev_{b20} tr_pat_{b40}"},
	{"Vercel", "vcp_{b56} vci_{b56} vca_{b56} vcr_{b56} vck_{b56}"},
	{"Voyage", "pa-{w43}"},

	{"HubSpot", "pat-na1-{h8}-{h4}-{h4}-{h4}-{h12} pat-eu1-{h8}-{h4}-{h4}-{h4}-{h12} pat-ap1-{h8}-{h4}-{h4}-{h4}-{h12}"},
	{"MongoDB Atlas", "mdb_sa_sk_{_40}"},
	{"SonarQube", "squ_{h40} sqp_{h40} sqa_{h40}"},

	{"Aiven", "AVNS_{_19}"},
	{"Asana", "2/1{d15}/1{d15}:{h32} 1/1{d15}:{h32}"},
	{"Axiom", "xaat-{h8}-{h4}-{h4}-{h4}-{h12}"},
	{"Google", "1//0g{_94}"},
	{"Grafana Cloud", "glc_eyJvIjoi{s120}="},
	{"Honeycomb", "hcaik_01{j24}{j32} hcxik_01{j24}{j32}"},
	{"OpenShift", "sha256~{_43}"},
}

// firstFormats are the first services of formats: those of decision 69.
const firstFormats = 56

// bare are texts in which a token has no name beside it.
var bare = []string{
	"I checked it with [[{TOKEN}]] and it worked.\n", `{"value":"[[{TOKEN}]]"}` + "\n", "> [[{TOKEN}]]\n", "- \x1b[32m[[{TOKEN}]]\x1b[0m\n",
	`{"delta":"{\"text\":\"use [[{TOKEN}]]\\n\"}"}` + "\n",
}

func TestFormatsAreFoundWithoutANameBesideThem(t *testing.T) {
	t.Parallel()
	s := redact.New()
	forms, found, asideForms, asideFound := 0, 0, 0, 0
	for i, service := range formats {
		for form := range strings.FieldsSeq(service.forms) {
			m := newMaker(uint64(1000 + forms))
			whole := true
			for _, text := range bare {
				one := plain(strings.ReplaceAll(text, "{TOKEN}", m.fill(form)))
				ok := share(one.secrets[0], s.Find([]byte(one.text))) >= 0.95
				whole = whole && ok
				assert.True(t, ok, "%s: %q", service.service, one.text)
			}
			forms++
			aside := i < firstFormats && i%3 == 2
			if aside {
				asideForms++
			}
			if whole {
				found++
				if aside {
					asideFound++
				}
			}
		}
	}
	t.Logf("found %d of %d forms, %d of the %d that were set aside", found, forms, asideFound, asideForms)
}
