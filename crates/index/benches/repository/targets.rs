//! Twenty files with something particular in them, and a question about each in a person's words.

/// A question, the file that answers it, and that file's content.
pub(crate) struct Target {
    pub(crate) question: &'static str,
    pub(crate) path: &'static str,
    pub(crate) content: &'static str,
}

pub(crate) const TARGETS: &[Target] = &[
    Target {
        question: "when is a card charged again after the bank declined it?",
        path: "services/payments/src/dunning.rs",
        content: r#"//! Follow-up of payments that did not go through.
use std::time::Duration;

/// How a bank turned a charge down.
pub enum Decline {
    InsufficientFunds,
    ExpiredCard,
    DoNotHonour,
}

/// Spreads the attempts after a declined charge over three weeks, later ones further apart, and gives up on a card that
/// cannot work any more.
pub fn next_attempt(decline: &Decline, attempts: u32) -> Option<Duration> {
    const DAYS: [u64; 4] = [1, 3, 7, 10];
    match decline {
        Decline::ExpiredCard => None,
        Decline::InsufficientFunds | Decline::DoNotHonour => {
            DAYS.get(attempts as usize).map(|days| Duration::from_secs(days * 86_400))
        }
    }
}
"#,
    },
    Target {
        question: "how is value added tax rounded for the items of a basket?",
        path: "web/src/cart/totals.ts",
        content: r#"import { Money, LineItem } from "../types";

/** VAT is computed and rounded per line, half to even, so that the sum on the receipt equals the sum of its lines. */
export function vatOf(line: LineItem, rate: number): Money {
  const exact = line.unitPrice.cents * line.quantity * rate;
  const floor = Math.floor(exact);
  const rest = exact - floor;
  const up = rest > 0.5 || (rest === 0.5 && floor % 2 === 1);
  return { cents: up ? floor + 1 : floor, currency: line.unitPrice.currency };
}

export function grandTotal(lines: LineItem[], rate: number): number {
  return lines.reduce((sum, line) => sum + line.unitPrice.cents * line.quantity + vatOf(line, rate).cents, 0);
}
"#,
    },
    Target {
        question: "how long may a visitor be idle until a new visit begins?",
        path: "analytics/sessions/stitch.py",
        content: r#""""Joins single page views into visits."""

from datetime import timedelta

GAP = timedelta(minutes=30)


def stitch(views):
    """Groups the views of one visitor. After half an hour without a view, the next one opens another visit."""
    visits = []
    for view in sorted(views, key=lambda view: view.at):
        if visits and view.at - visits[-1][-1].at <= GAP:
            visits[-1].append(view)
        else:
            visits.append([view])
    return visits
"#,
    },
    Target {
        question: "what slows down clients that send too many requests?",
        path: "gateway/internal/flow/bucket.go",
        content: r#"package flow

import "time"

// Bucket holds the allowance of one caller. It fills at a steady pace and every request takes one token out.
type Bucket struct {
	tokens float64
	burst  float64
	perSec float64
	last   time.Time
}

// Take reports whether a request may pass now, and otherwise how long the client has to wait (429 with Retry-After).
func (b *Bucket) Take(now time.Time) (bool, time.Duration) {
	b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.perSec)
	b.last = now
	if b.tokens >= 1 {
		b.tokens--
		return true, 0
	}
	return false, time.Duration((1 - b.tokens) / b.perSec * float64(time.Second))
}
"#,
    },
    Target {
        question: "how long are goods held for a buyer who has not paid yet?",
        path: "backoffice/src/main/java/shop/stock/Reservation.java",
        content: r#"package shop.stock;

import java.time.Duration;
import java.time.Instant;

/** Sets pieces aside for a checkout, so that two buyers cannot pay for the last one. */
public final class Reservation {
    /** Unpaid reservations fall back to the shelf after a quarter of an hour. */
    static final Duration HOLD = Duration.ofMinutes(15);

    private final String sku;
    private final int pieces;
    private final Instant since;

    Reservation(String sku, int pieces, Instant since) {
        this.sku = sku;
        this.pieces = pieces;
        this.since = since;
    }

    boolean isOver(Instant now) {
        return since.plus(HOLD).isBefore(now);
    }

    int release(Shelf shelf) {
        return shelf.putBack(sku, pieces);
    }
}
"#,
    },
    Target {
        question: "ignore the flickering of a push button",
        path: "firmware/src/input/debounce.c",
        content: r#"#include "gpio.h"

/* A mechanical contact bounces for some milliseconds. A press counts only after the pin was stable for STABLE_MS. */
#define STABLE_MS 12

struct button {
    int pin;
    int level;
    unsigned long since;
};

int button_pressed(struct button *b, unsigned long now_ms)
{
    int level = gpio_read(b->pin);
    if (level != b->level) {
        b->level = level;
        b->since = now_ms;
        return 0;
    }
    return level && now_ms - b->since >= STABLE_MS;
}
"#,
    },
    Target {
        question: "which mail addresses are not written to any more because delivery failed?",
        path: "services/mailer/src/suppress.rs",
        content: r#"//! Addresses that get nothing from us.

/// What the other mail server said.
pub enum Bounce {
    /// The mailbox does not exist.
    Hard,
    /// Full or temporarily out of reach.
    Soft,
}

pub struct Suppression {
    pub soft: u32,
    pub blocked: bool,
}

impl Suppression {
    /// One hard bounce is enough, five soft ones too: further mail would only hurt our reputation as a sender.
    pub fn bounced(&mut self, bounce: &Bounce) {
        match bounce {
            Bounce::Hard => self.blocked = true,
            Bounce::Soft => {
                self.soft += 1;
                self.blocked |= self.soft >= 5;
            }
        }
    }
}
"#,
    },
    Target {
        question: "consecutive keystrokes are undone together",
        path: "web/src/editor/history.js",
        content: r#"// Undo and redo of the editor. Typing is folded into one step until the writer pauses or moves the cursor.
const PAUSE_MS = 800;

export class History {
  constructor() {
    this.done = [];
    this.undone = [];
  }

  push(change, now) {
    const last = this.done.at(-1);
    this.undone = [];
    if (last && last.kind === "typing" && change.kind === "typing" && now - last.at < PAUSE_MS && last.end === change.start) {
      last.text += change.text;
      last.end = change.end;
      last.at = now;
      return;
    }
    this.done.push({ ...change, at: now });
  }

  undo() {
    const change = this.done.pop();
    if (change) this.undone.push(change);
    return change;
  }
}
"#,
    },
    Target {
        question: "how do we score products nobody has clicked on so far?",
        path: "ml/ranking/prior.py",
        content: r#""""Ranking without evidence."""


def smoothed_ctr(clicks, impressions, category_ctr, weight=50):
    """Click rate of an item. An item without clicks of its own starts at the rate of its category and moves away from
    it as impressions come in, so that new products are neither buried nor pushed."""
    return (clicks + weight * category_ctr) / (impressions + weight)


def explore(candidates, share, rng):
    """Keeps a share of the page for items that were hardly ever shown."""
    fresh = [item for item in candidates if item.impressions < 20]
    return rng.sample(fresh, k=min(len(fresh), int(share * len(candidates))))
"#,
    },
    Target {
        question: "two devices edited the same note while offline, which version wins?",
        path: "sync/internal/merge/resolve.go",
        content: r#"package merge

// Clock counts the edits that each device has seen.
type Clock map[string]uint64

// Order of two versions of a note.
type Order int

const (
	Before Order = iota
	After
	Concurrent
)

// Compare tells which version knew of the other. Edits made offline on two devices are concurrent: none of them wins,
// both are kept and the note is marked as a conflict for its owner.
func Compare(a, b Clock) Order {
	less, more := false, false
	for device, n := range a {
		less = less || n < b[device]
		more = more || n > b[device]
	}
	for device, n := range b {
		less = less || a[device] < n
	}
	switch {
	case less && more:
		return Concurrent
	case less:
		return Before
	default:
		return After
	}
}
"#,
    },
    Target {
        question: "avoid several simultaneous renewals of the access token",
        path: "web/src/auth/refresh.ts",
        content: r#"let pending: Promise<string> | null = null;

/**
 * Ten components may notice at once that the bearer has run out. Only the first asks the server for a fresh one; the
 * others wait for the same promise.
 */
export function freshToken(ask: () => Promise<string>): Promise<string> {
  if (pending === null) {
    pending = ask().finally(() => {
      pending = null;
    });
  }
  return pending;
}
"#,
    },
    Target {
        question: "make sure that debits and credits balance",
        path: "ledger/src/main/java/books/Posting.java",
        content: r#"package books;

import java.util.List;

/** One business event in the books: what is taken from some accounts is given to others. */
public record Posting(String text, List<Entry> entries) {
    public record Entry(String account, long cents) {}

    public Posting {
        // Debit is positive, credit negative.
        long sum = entries.stream().mapToLong(Entry::cents).sum();
        if (sum != 0) {
            throw new IllegalArgumentException("posting does not balance: off by " + sum);
        }
    }
}
"#,
    },
    Target {
        question: "suggest corrections for misspelled search words",
        path: "services/search/src/fuzzy.rs",
        content: r#"//! Did you mean …?

/// Edit distance with transpositions, cut off at `most`.
pub fn distance(typed: &str, known: &str, most: usize) -> Option<usize> {
    let (typed, known): (Vec<char>, Vec<char>) = (typed.chars().collect(), known.chars().collect());
    let mut row: Vec<usize> = (0..=known.len()).collect();
    for (i, a) in typed.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, b) in known.iter().enumerate() {
            let cost = usize::from(a != b);
            let next = (row[j] + 1).min(row[j + 1] + 1).min(before + cost);
            before = row[j + 1];
            row[j + 1] = next;
        }
    }
    row.last().copied().filter(|found| *found <= most)
}

/// Terms of the dictionary that a misspelling may stand for, the most frequent first.
pub fn suggestions<'a>(typed: &str, dictionary: &'a [(String, u64)]) -> Vec<&'a str> {
    let mut near: Vec<&(String, u64)> = dictionary.iter().filter(|(term, _)| distance(typed, term, 2).is_some()).collect();
    near.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    near.into_iter().map(|(term, _)| term.as_str()).collect()
}
"#,
    },
    Target {
        question: "estimate how long to wait for an acknowledgement before a segment is sent again",
        path: "netstack/src/tcp/rto.c",
        content: r#"#include "tcp.h"

/*
 * Retransmission timeout from smoothed round trip time and its variation. Samples of segments that were sent twice are
 * not used: nobody knows which copy the ACK belongs to.
 */
void tcp_rtt_sample(struct tcp_conn *c, unsigned rtt_us, int retransmitted)
{
    if (retransmitted)
        return;
    if (c->srtt == 0) {
        c->srtt = rtt_us;
        c->rttvar = rtt_us / 2;
    } else {
        unsigned delta = c->srtt > rtt_us ? c->srtt - rtt_us : rtt_us - c->srtt;
        c->rttvar += (delta >> 2) - (c->rttvar >> 2);
        c->srtt += (rtt_us >> 3) - (c->srtt >> 3);
    }
    c->rto = c->srtt + 4 * c->rttvar;
    if (c->rto < TCP_RTO_MIN)
        c->rto = TCP_RTO_MIN;
}
"#,
    },
    Target {
        question: "detect which separator a spreadsheet export uses",
        path: "importers/tabular/dialect.py",
        content: r#"import collections

CANDIDATES = ",;\t|"


def sniff(sample):
    """Guesses the delimiter of a CSV file from its first lines: the one that cuts every line into equally many fields.

    Exports of German spreadsheets have semicolons, because the comma is their decimal sign.
    """
    best, fields = ",", 1
    for delimiter in CANDIDATES:
        counts = collections.Counter(line.count(delimiter) for line in sample.splitlines() if line)
        if len(counts) == 1:
            (count,) = counts
            if count + 1 > fields:
                best, fields = delimiter, count + 1
    return best
"#,
    },
    Target {
        question: "group nearby pins when the map is zoomed out",
        path: "web/src/map/cluster.ts",
        content: r#"import { Marker, Cluster } from "./types";

const CELL = 64;

/** Puts markers that would overlap on the screen into one bubble with a number. The lower the zoom, the larger the cells. */
export function clusters(markers: Marker[], zoom: number): Cluster[] {
  const scale = Math.pow(2, zoom) * 256;
  const cells = new Map<string, Cluster>();
  for (const marker of markers) {
    const x = Math.floor((((marker.lng + 180) / 360) * scale) / CELL);
    const y = Math.floor((((90 - marker.lat) / 180) * scale) / CELL);
    const key = `${x}:${y}`;
    const cell = cells.get(key) ?? { count: 0, lat: 0, lng: 0 };
    cell.count += 1;
    cell.lat += (marker.lat - cell.lat) / cell.count;
    cell.lng += (marker.lng - cell.lng) / cell.count;
    cells.set(key, cell);
  }
  return [...cells.values()];
}
"#,
    },
    Target {
        question: "what does a nightly job do on the day when daylight saving time begins?",
        path: "scheduler/internal/calendar/next.go",
        content: r#"package calendar

import "time"

// Next returns when a daily job fires after a given instant. In spring an hour is missing: a job set to a time that does
// not exist on that day (clocks jump from 02:00 to 03:00, daylight saving) runs right after the jump, once. In autumn an
// hour comes twice and the job runs in the first.
func Next(after time.Time, hour, minute int) time.Time {
	day := time.Date(after.Year(), after.Month(), after.Day(), hour, minute, 0, 0, after.Location())
	if !day.After(after) {
		day = time.Date(after.Year(), after.Month(), after.Day()+1, hour, minute, 0, 0, after.Location())
	}
	return day
}
"#,
    },
    Target {
        question: "photos from phones are turned the right way up",
        path: "services/media/src/orientation.rs",
        content: r#"//! Phones store the picture as the sensor saw it and note in EXIF how they were held.

use crate::pixels::Pixels;

/// Turns or mirrors the pixels as the orientation tag (1 to 8) says, and drops the tag.
pub fn upright(image: Pixels, tag: u16) -> Pixels {
    match tag {
        2 => image.flip_horizontal(),
        3 => image.rotate(180),
        4 => image.flip_vertical(),
        5 => image.rotate(90).flip_horizontal(),
        6 => image.rotate(90),
        7 => image.rotate(270).flip_horizontal(),
        8 => image.rotate(270),
        _ => image,
    }
}
"#,
    },
    Target {
        question: "steps to promote the standby database when the primary dies",
        path: "docs/runbooks/failover.md",
        content: r#"# Failover

For whoever is on call. Read it to the end before the first step.

## Is it really dead?

Look at the replication lag panel. A slow primary is not a dead one.

## Promote the standby

1. Fence the old primary: take its address out of the load balancer.
2. On the standby: `pg_ctl promote`.
3. Point the connection pool to it and restart the writers.

## Afterwards

Rebuild the old primary as a replica from a fresh base backup. Never start it as it is.
"#,
    },
    Target {
        question: "turn commit messages into release notes",
        path: "tools/release/changelog.js",
        content: r#"import { execFileSync } from "node:child_process";

const SECTIONS = { feat: "Added", fix: "Fixed", perf: "Faster", docs: null, chore: null };

/** Sorts the subjects of all commits since the last tag into the sections of CHANGELOG.md. */
export function changelog(tag) {
  const subjects = execFileSync("git", ["log", "--format=%s", `${tag}..HEAD`], { encoding: "utf8" }).split("\n");
  const sections = new Map();
  for (const subject of subjects) {
    const match = /^(\w+)(?:\([^)]*\))?!?: (.+)$/.exec(subject);
    const section = match && SECTIONS[match[1]];
    if (!section) continue;
    sections.set(section, [...(sections.get(section) ?? []), match[2]]);
  }
  return [...sections].map(([name, lines]) => `### ${name}\n\n${lines.map((line) => `- ${line}`).join("\n")}\n`).join("\n");
}
"#,
    },
];
