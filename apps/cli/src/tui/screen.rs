//! The terminal: takes it over, reads keys, draws, gives it back – also after a panic, an error or a signal.

use std::io::{self, Stdout};
use std::time::Duration;

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, EventStream, KeyEventKind};
use crossterm::terminal::{self, Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use crossterm::{cursor, execute};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use wire::ExitCode;

use super::draw::{Colours, draw};
use super::lists::breadth;
use super::news::{News, Order};
use super::server::Server;
use super::state::{Notice, State};
use crate::attention::Heard;
use crate::failure::Failure;
use crate::session::Session;

/// How often the clock on the screen moves.
const TICK: Duration = Duration::from_millis(500);
/// News taken in before it is drawn again.
const BATCH: usize = 200;

/// Runs until the person leaves.
pub(crate) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let (news, coming) = mpsc::channel(256);
    let server = Server::new(session.clone(), client, news);
    let following = Following(tokio::spawn(server.clone().follow()));
    leave_on_panic();
    let screen = Screen::take()?;
    let mut app = App { screen, state: State::new(Timestamp::now()), server, session, coming, heard: Heard::default() };
    let result = app.serve().await;
    drop((app, following));
    result.map_err(|error| terminal_failure(&error))?;
    Ok(ExitCode::Done)
}

/// The feed, for as long as the screen is there.
struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A terminal that is ours; given back when dropped.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn take() -> Result<Self, Failure> {
        let taken = enter().and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        taken.map(|terminal| Self { terminal }).map_err(|error| {
            leave();
            terminal_failure(&error)
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Clear(ClearType::All), EnableBracketedPaste, cursor::Hide)
}

/// A terminal that is gone cannot be given back, and nobody is there to be told.
fn leave() {
    let _gone = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
    let _gone = terminal::disable_raw_mode();
}

/// What a panic says must be readable, and the terminal usable after it.
fn leave_on_panic() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        previous(panic);
        // Also of a task beside the screen: it would go on drawing over the message.
        std::process::exit(101);
    }));
}

fn terminal_failure(error: &io::Error) -> Failure {
    Failure::unavailable(
        "terminal",
        format!("the terminal does not play along: {error}"),
        "use `holdpoint inbox` and `holdpoint watch RUN`",
    )
}

struct App<'a> {
    screen: Screen,
    state: State,
    server: Server,
    session: &'a Session,
    coming: mpsc::Receiver<News>,
    heard: Heard,
}

/// Whether it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Stay,
    Leave,
}

impl App<'_> {
    async fn serve(&mut self) -> io::Result<()> {
        let colours = match std::env::var_os("NO_COLOR").filter(|value| !value.is_empty()) {
            Some(_) => Colours::None,
            None => Colours::Some,
        };
        let (mut term, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        let mut keys = EventStream::new();
        let mut tick = tokio::time::interval(TICK);
        loop {
            let Self { screen, state, .. } = &mut *self;
            state.breadth = breadth(screen.terminal.size()?.width);
            screen.terminal.draw(|frame| draw(state, frame, colours))?;
            let orders = tokio::select! {
                event = keys.next() => match event {
                    Some(event) => self.event(event?),
                    None => return Ok(()),
                },
                Some(news) = self.coming.recv() => self.take(news),
                _ = tick.tick() => {
                    self.state.now = Timestamp::now();
                    // The screen may have become wider.
                    self.state.look_beside()
                }
                _ = term.recv() => return Ok(()),
                _ = hang_up.recv() => return Ok(()),
            };
            for order in orders {
                match order {
                    Order::Outside(words) => {
                        // Dropped, so that what runs outside gets the keys.
                        drop(keys);
                        self.outside(&words).await?;
                        keys = EventStream::new();
                    }
                    order => {
                        if self.order(order) == Next::Leave {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    fn event(&mut self, event: Event) -> Vec<Order> {
        self.state.now = Timestamp::now();
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.state.key(key),
            // What is pasted is text, never keys.
            Event::Paste(text) => {
                if let Some(prompt) = &mut self.state.prompt {
                    prompt.paste(&text);
                }
                Vec::new()
            }
            Event::Key(_) | Event::Resize(..) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) => Vec::new(),
        }
    }

    /// Takes what came, and what came with it.
    fn take(&mut self, news: News) -> Vec<Order> {
        self.state.now = Timestamp::now();
        let mut orders = self.state.take(news);
        for _ in 0..BATCH {
            let Ok(news) = self.coming.try_recv() else { break };
            orders.extend(self.state.take(news));
        }
        self.call();
        orders
    }

    /// Tells the terminal that something new waits.
    fn call(&mut self) {
        let Some(attention) = self.session.attention else { return };
        if let Some(hold) = self.heard.fresh(&self.state.holds) {
            attention.call(self.session.report, &format!("a run waits for you: {}", hold.summary));
        }
    }

    fn order(&self, order: Order) -> Next {
        if order == Order::Quit {
            return Next::Leave;
        }
        tokio::spawn(self.server.clone().carry_out(order));
        Next::Stay
    }

    /// Gives the terminal to a command of ours, and takes it back.
    async fn outside(&mut self, words: &[String]) -> io::Result<()> {
        leave();
        let mut command = tokio::process::Command::new(std::env::current_exe()?);
        command.args(words).env("HOLDPOINT_HOME", self.session.home.path());
        let ended = command.status().await;
        let name = words.first().map(String::as_str).unwrap_or_default();
        self.state.notice = Some(match ended {
            Ok(status) if status.success() => Notice::Good(format!("back from `holdpoint {name}`")),
            Ok(_) | Err(_) => {
                self.session.report.note("Enter goes back to the screen");
                let mut line = String::new();
                tokio::task::spawn_blocking(move || io::stdin().read_line(&mut line)).await??;
                Notice::Bad(format!("`holdpoint {name}` did not end well"))
            }
        });
        enter()?;
        // A new one draws everything, and unlike `clear` it does not ask the terminal where the cursor is.
        self.screen.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }
}
