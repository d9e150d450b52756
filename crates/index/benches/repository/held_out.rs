//! Ten more questions that were written after the ranking and its list of synonyms, and that neither was changed for.

use crate::targets::Target;

pub(crate) const HELD_OUT: &[Target] = &[
    Target {
        question: "who may see a document that was shared with a team?",
        path: "services/vault/src/sharing.rs",
        content: "//! Visibility.\n\npub enum Audience {\n    Owner,\n    Team(u64),\n    Everyone,\n}\n\n/// A reader gets in as the owner, as a member of the team it was shared with, or because it is open to all.\npub fn readable(audience: &Audience, reader: &Reader) -> bool {\n    match audience {\n        Audience::Owner => reader.is_owner,\n        Audience::Team(team) => reader.teams.contains(team),\n        Audience::Everyone => true,\n    }\n}\n",
    },
    Target {
        question: "keep the screen from going dark while a video plays",
        path: "web/src/player/awake.ts",
        content: "let lock: WakeLockSentinel | null = null;\n\n/** The display must not dim as long as something is playing; browsers drop the lock when the tab is hidden. */\nexport async function stayAwake(playing: boolean): Promise<void> {\n  if (playing && lock === null) {\n    lock = await navigator.wakeLock.request(\"screen\");\n  } else if (!playing && lock !== null) {\n    await lock.release();\n    lock = null;\n  }\n}\n",
    },
    Target {
        question: "convert temperatures measured by the thermometer chip to degrees",
        path: "firmware/src/adc/ntc.c",
        content: "#include <math.h>\n#include \"adc.h\"\n\n/* Beta equation of the NTC: raw reading of the divider to tenths of a degree Celsius. */\nint ntc_temperature(unsigned raw)\n{\n    double r = 10000.0 * raw / (4095.0 - raw);\n    double kelvin = 1.0 / (1.0 / 298.15 + log(r / 10000.0) / 3950.0);\n    return (int)((kelvin - 273.15) * 10.0);\n}\n",
    },
    Target {
        question: "how are rows with missing values filled before training?",
        path: "ml/features/impute.py",
        content: "\"\"\"Gaps in the training data.\"\"\"\n\n\ndef impute(frame, columns):\n    \"\"\"Replaces missing numbers by the median of their column and adds a flag that says so, for the model to learn from.\"\"\"\n    for column in columns:\n        absent = frame[column].isna()\n        frame[column + \"_missing\"] = absent\n        frame.loc[absent, column] = frame[column].median()\n    return frame\n",
    },
    Target {
        question: "drain open connections before the server goes down",
        path: "gateway/internal/lifecycle/drain.go",
        content: "package lifecycle\n\nimport (\n\t\"context\"\n\t\"net/http\"\n\t\"time\"\n)\n\n// Drain stops accepting, lets requests that are under way finish, and closes the rest after the grace period. Kubernetes\n// sends SIGTERM before it takes the pod out of the endpoints, so there is a short wait first.\nfunc Drain(ctx context.Context, server *http.Server, grace time.Duration) error {\n\ttime.Sleep(3 * time.Second)\n\tctx, cancel := context.WithTimeout(ctx, grace)\n\tdefer cancel()\n\treturn server.Shutdown(ctx)\n}\n",
    },
    Target {
        question: "prevent guessing of passwords by locking the account for a while",
        path: "backoffice/src/main/java/shop/security/Lockout.java",
        content: "package shop.security;\n\nimport java.time.Duration;\n\n/** Brute force: after five wrong passwords an account is locked, twice as long each time. */\npublic final class Lockout {\n    private int failures;\n    private Duration penalty = Duration.ofMinutes(1);\n\n    Duration wrongPassword() {\n        failures++;\n        if (failures < 5) {\n            return Duration.ZERO;\n        }\n        failures = 0;\n        Duration now = penalty;\n        penalty = penalty.multipliedBy(2);\n        return now;\n    }\n}\n",
    },
    Target {
        question: "how do we find out that a customer will probably leave us?",
        path: "analytics/models/churn.py",
        content: "\"\"\"Customers at risk.\"\"\"\n\n\ndef churn_score(customer, now):\n    \"\"\"Probability that a customer leaves within 60 days, from how long ago and how often they bought.\"\"\"\n    recency = (now - customer.last_order).days\n    return 1 / (1 + 2.718 ** (-(0.04 * recency - 0.6 * customer.orders_per_month - 1.2)))\n",
    },
    Target {
        question: "shorten long addresses for sharing",
        path: "web/src/links/shorten.js",
        content: "const ALPHABET = \"0123456789abcdefghijkmnpqrstuvwxyz\";\n\n// Short links: the number of the row in base 34, without letters that look alike.\nexport function slugOf(number) {\n  let slug = \"\";\n  do {\n    slug = ALPHABET[number % ALPHABET.length] + slug;\n    number = Math.floor(number / ALPHABET.length);\n  } while (number > 0);\n  return slug;\n}\n\nexport const shortUrl = (number) => `https://s.example/${slugOf(number)}`;\n",
    },
    Target {
        question: "rebuild the balance of an account from its history",
        path: "services/wallet/src/replay.rs",
        content: "//! State from events.\n\n/// Folds all movements of an account, oldest first, starting from the last snapshot if there is one.\npub fn balance(snapshot: Option<(u64, i64)>, movements: &[Movement]) -> i64 {\n    let (from, start) = snapshot.unwrap_or((0, 0));\n    movements.iter().filter(|movement| movement.number > from).fold(start, |sum, movement| sum + movement.cents)\n}\n",
    },
    Target {
        question: "how to give a new developer access to the staging cluster",
        path: "docs/onboarding/access.md",
        content: "# Access\n\nWhat a newcomer needs in the first week.\n\n## Staging\n\n1. Add their key to `infra/people.yaml`.\n2. Run `make grant who=NAME env=staging`. The cluster picks it up within a minute.\n\n## Production\n\nOnly after the on-call training.\n",
    },
];
