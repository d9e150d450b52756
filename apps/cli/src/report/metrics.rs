//! How runs went, as a table. Pure.

use wire::{FiguresView, MetricsView, NamedFigures};

use super::clean_line;
use super::table::table;
use super::words::{count, money, seconds};

/// The sum in a few lines, and rows below it.
pub(crate) fn page(view: &MetricsView, rows: &[NamedFigures], width: usize) -> String {
    let total = &view.total;
    if total.ended == 0 {
        let open = count(view.open, "run is open", "runs are open");
        return format!("no run has ended since {}; {open}", view.since.strftime("%Y-%m-%d"));
    }
    let head = format!(
        "{} since {}: {} done ({}), {} merged, {} a merged change\n{} decided after {} (middle), {} iterations\n",
        count(total.ended, "run ended", "runs ended"),
        view.since.strftime("%Y-%m-%d"),
        total.completed,
        percent(total.success_rate),
        total.merged,
        dollars(total.usd_per_merged),
        count(total.decisions, "hold", "holds"),
        length(total.decision_median_seconds),
        number(total.iterations),
    );
    let lines = rows.iter().filter(|row| row.figures.ended > 0).map(|row| line(&clean_line(&row.name), &row.figures));
    let names = ["", "ended", "done", "time", "a run", "a merge", "decided", "iter."];
    format!("{head}\n{}", table(&names, lines, width))
}

fn line(name: &str, figures: &FiguresView) -> Vec<String> {
    vec![
        name.to_owned(),
        figures.ended.to_string(),
        percent(figures.success_rate),
        length(figures.median_seconds),
        dollars(figures.usd_per_run),
        dollars(figures.usd_per_merged),
        length(figures.decision_median_seconds),
        number(figures.iterations),
    ]
}

fn percent(part: Option<f64>) -> String {
    part.map_or_else(|| "–".to_owned(), |part| format!("{:.0} %", part * 100.0))
}

fn length(value: Option<i64>) -> String {
    value.map_or_else(|| "–".to_owned(), seconds)
}

fn dollars(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), money)
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    fn view(total: FiguresView) -> MetricsView {
        MetricsView {
            since: "2026-11-02T00:00:00Z".parse().unwrap(),
            until: "2026-11-18T00:00:00Z".parse().unwrap(),
            project: None,
            open: 2,
            total,
            playbooks: Vec::new(),
            models: Vec::new(),
            weeks: Vec::new(),
            holds: Vec::new(),
        }
    }

    #[test]
    fn nothing_that_ended_is_said_in_words() {
        let page = page(&view(FiguresView::default()), &[], 100);
        assert_eq!(page, "no run has ended since 2026-11-02; 2 runs are open");
    }

    #[test]
    fn a_week_fits_on_one_line_of_eighty_columns() {
        let figures = FiguresView {
            ended: 1234,
            merged: 1000,
            success_rate: Some(1.0),
            median_seconds: Some(90),
            usd_per_run: Some(0.0498),
            usd_per_merged: Some(0.0498),
            decision_median_seconds: Some(90),
            iterations: Some(2.0),
            ..FiguresView::default()
        };
        let row = NamedFigures { name: "2026-11-16".to_owned(), figures: figures.clone() };
        let text = plain(&page(&view(figures), &[row], 80));
        assert_eq!(text.lines().skip_while(|line| !line.is_empty()).count(), 3, "{text}");
    }

    #[test]
    fn what_cannot_be_told_is_a_dash() {
        let figures = FiguresView {
            ended: 4,
            completed: 3,
            success_rate: Some(0.75),
            median_seconds: Some(90),
            usd: 2.0,
            usd_per_run: Some(0.5),
            iterations: Some(1.25),
            ..FiguresView::default()
        };
        let row = NamedFigures { name: "autonomous".to_owned(), figures: figures.clone() };
        let text = plain(&page(&view(figures), &[row], 120));
        assert!(
            text.starts_with("4 runs ended since 2026-11-02: 3 done (75 %), 0 merged, – a merged change"),
            "{text}"
        );
        let row = text.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row, "autonomous 4 75 % 1 min 30 s $0.5000 – – 1.2", "{text}");
    }
}
