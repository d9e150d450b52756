//! Joining the branches of child runs into their parent's, with and without conflicts.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use git_support::{World, branch, git, text};
use runner::git::{
    BranchName, CommitId, CommitRequest, GitError, JoinRequest, Joined, Published, TreeId, join, publish,
};

type Files<'a> = &'a [(&'a str, &'a [u8])];

fn parent() -> BranchName {
    branch("autonomous/p")
}

/// A commit on `onto` with these files set and these removed.
fn commit_on(world: &World, onto: &CommitId, set: Files<'_>, removed: &[&str], effect: &str) -> CommitId {
    let files: Vec<_> = set.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect();
    let tree = world.private.tree_with(onto, &files).unwrap();
    let remove: Vec<_> = removed.iter().map(|path| vec!["update-index", "--force-remove", path]).collect();
    commit_index(world, onto, &tree, &remove, effect)
}

/// The same with one entry whose mode is given: an executable or a link.
fn commit_entry(world: &World, onto: &CommitId, mode: &str, path: &str, content: &[u8]) -> CommitId {
    let tree = world.private.tree_with(onto, &[(path.to_owned(), content.to_vec())]).unwrap();
    let blob = git(world.private.dir(), &["rev-parse", &format!("{tree}:{path}")]);
    let entry = format!("{mode},{blob},{path}");
    commit_index(world, onto, &tree, &[vec!["update-index", "--cacheinfo", &entry]], "r2/1")
}

fn commit_index(world: &World, onto: &CommitId, tree: &TreeId, steps: &[Vec<&str>], effect: &str) -> CommitId {
    let index = world.dir.path().join("test-index");
    let run = |args: &[&str]| {
        let output = std::process::Command::new("git")
            .arg("--git-dir")
            .arg(world.private.dir())
            .arg("--work-tree")
            .arg(world.dir.path())
            .args(args)
            .env("GIT_INDEX_FILE", &index)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["read-tree", tree.as_str()]);
    for step in steps {
        run(step);
    }
    let tree = TreeId::parse(&run(&["write-tree"])).unwrap();
    let parents = vec![onto.clone()];
    world.private.commit(&CommitRequest { parents, tree, text: text(effect, "r1", effect) }).unwrap()
}

/// A base with these files, the parent's branch one commit further and a child beside it.
struct Two {
    world: World,
    ours: CommitId,
    child: CommitId,
}

impl Two {
    fn new(base: Files<'_>, ours: (Files<'_>, &[&str]), theirs: (Files<'_>, &[&str])) -> Self {
        let world = World::new();
        let start = commit_on(&world, &world.base, base, &[], "r1/1");
        let ours = commit_on(&world, &start, ours.0, ours.1, "r1/2");
        let child = commit_on(&world, &start, theirs.0, theirs.1, "r2/1");
        world.private.create_branch(&parent(), &ours).unwrap();
        Self { world, ours, child }
    }

    fn request(&self) -> JoinRequest {
        JoinRequest {
            branch: parent(),
            onto: self.ours.clone(),
            child: self.child.clone(),
            text: text("Join task 2", "r1", "r1/7"),
            must_be_resolved: Vec::new(),
        }
    }

    fn tip(&self) -> CommitId {
        self.world.private.tip(&parent()).unwrap().unwrap()
    }

    fn show(&self, commit: &CommitId, path: &str) -> Option<String> {
        let bytes = self.world.private.read_file(commit, path).unwrap();
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The join ends in a conflict in these paths, twice the same, and the branch stays.
    #[track_caller]
    fn conflict(&self, expected: &[&str]) -> CommitId {
        let answer = join(&self.world.private, &self.request()).unwrap();
        let Joined::Conflict { paths, marked } = &answer else { panic!("no conflict: {answer:?}") };
        assert_eq!(paths, expected);
        assert_eq!(self.tip(), self.ours);
        assert_eq!(self.world.private.parents(marked).unwrap(), [self.ours.clone(), self.child.clone()]);
        assert!(!self.world.private.message(marked).unwrap().contains("Holdpoint-Effect"));
        assert_eq!(join(&self.world.private, &self.request()).unwrap(), answer);
        let kept =
            git(self.world.private.dir(), &["for-each-ref", "--format=%(objectname)", "refs/holdpoint/conflicts"]);
        assert_eq!(kept, marked.as_str());
        git(self.world.private.dir(), &["fsck", "--strict", "--connectivity-only"]);
        marked.clone()
    }
}

fn apart() -> Two {
    Two::new(&[], (&[("ours.txt", b"o\n")], &[]), (&[("theirs.txt", b"t\n")], &["src/lib.rs"]))
}

#[test]
fn a_join_is_a_merge_commit_of_both() {
    let two = apart();
    let answer = join(&two.world.private, &two.request()).unwrap();
    let Joined::Done { commit, tree, changed } = &answer else { panic!("{answer:?}") };
    assert_eq!(two.tip(), *commit);
    assert_eq!(two.world.private.parents(commit).unwrap(), [two.ours.clone(), two.child.clone()]);
    assert_eq!(two.world.private.tree_of(commit).unwrap(), *tree);
    assert_eq!(changed, &["src/lib.rs", "theirs.txt"]);
    assert_eq!(two.show(commit, "ours.txt").unwrap(), "o\n");
    assert!(two.world.private.message(commit).unwrap().contains("Holdpoint-Effect: r1/7"));
}

#[test]
fn a_child_that_only_goes_on_from_the_branch_is_still_a_merge_commit() {
    let mut two = apart();
    two.child = commit_on(&two.world, &two.ours, &[("next.txt", b"n\n")], &[], "r2/2");
    let Joined::Done { commit, .. } = join(&two.world.private, &two.request()).unwrap() else { panic!("no join") };
    assert_eq!(two.world.private.parents(&commit).unwrap(), [two.ours.clone(), two.child.clone()]);
}

#[test]
fn a_repeated_join_gives_the_same_answer_wherever_the_first_was_cut_off() {
    let two = apart();
    let request = two.request();
    let first = join(&two.world.private, &request).unwrap();
    let Joined::Done { commit, .. } = &first else { panic!("{first:?}") };
    assert_eq!(join(&two.world.private, &request).unwrap(), first);
    // The caller reads anew where the branch stands.
    let read_anew = JoinRequest { onto: commit.clone(), ..two.request() };
    assert_eq!(join(&two.world.private, &read_anew).unwrap(), first);
    // The commit was made, the branch was not moved.
    git(two.world.private.dir(), &["update-ref", &parent().full(), two.ours.as_str()]);
    assert_eq!(join(&two.world.private, &request).unwrap(), first);
    // The branch has gone on since.
    let later = commit_on(&two.world, commit, &[("later.txt", b"l\n")], &[], "r1/8");
    two.world.private.set_tip(&parent(), &later, Some(commit)).unwrap();
    assert_eq!(join(&two.world.private, &request).unwrap(), first);
    assert_eq!(two.tip(), later);
}

#[test]
fn a_child_without_work_of_its_own_changes_nothing() {
    let mut two = apart();
    for child in [two.ours.clone(), two.world.base.clone()] {
        two.child = child;
        let tree = two.world.private.tree_of(&two.ours).unwrap();
        let nothing = Joined::Done { commit: two.ours.clone(), tree, changed: Vec::new() };
        assert_eq!(join(&two.world.private, &two.request()).unwrap(), nothing);
        assert_eq!(two.tip(), two.ours);
    }
}

#[test]
fn a_branch_that_moved_is_not_joined_to() {
    let two = apart();
    let moved = commit_on(&two.world, &two.ours, &[("other.txt", b"x\n")], &[], "r1/300");
    two.world.private.set_tip(&parent(), &moved, Some(&two.ours)).unwrap();
    let refused = join(&two.world.private, &two.request());
    assert!(matches!(refused, Err(GitError::Moved { .. })), "{refused:?}");
    assert_eq!(two.tip(), moved);
}

#[test]
fn a_join_without_its_effect_is_refused() {
    let two = apart();
    let mut request = two.request();
    request.text.trailers.truncate(1);
    assert!(matches!(join(&two.world.private, &request), Err(GitError::BadTrailer { .. })));
}

#[test]
fn a_text_conflict_is_marked_and_joined_once_it_is_resolved() {
    let mut two = Two::new(&[], (&[("a.txt", b"ours\n")], &[]), (&[("a.txt", b"theirs\n"), ("b.txt", b"b\n")], &[]));
    let marked = two.conflict(&["a.txt"]);
    let both = two.show(&marked, "a.txt").unwrap();
    let lines: Vec<&str> = both.lines().collect();
    assert_eq!(lines[0], format!("<<<<<<< {}", two.ours));
    assert_eq!(lines[1..4], ["ours", "=======", "theirs"]);
    assert_eq!(two.show(&marked, "b.txt").unwrap(), "b\n");
    let unresolved = Joined::Unresolved { paths: vec!["a.txt".to_owned()] };
    let resolving = |two: &Two, child: CommitId| JoinRequest {
        child,
        must_be_resolved: vec!["a.txt".to_owned(), "b.txt".to_owned()],
        ..two.request()
    };
    // Committed as it was left, on the marked commit or copied over on the child's own branch.
    assert_eq!(join(&two.world.private, &resolving(&two, marked.clone())).unwrap(), unresolved);
    let copied = commit_on(&two.world, &two.child, &[("a.txt", both.as_bytes())], &[], "r2/3");
    assert_eq!(join(&two.world.private, &resolving(&two, copied)).unwrap(), unresolved);
    assert_eq!(two.tip(), two.ours);
    two.child = commit_on(&two.world, &marked, &[("a.txt", b"ours and theirs\n")], &[], "r2/4");
    let answer = join(&two.world.private, &resolving(&two, two.child.clone())).unwrap();
    let Joined::Done { commit, changed, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(two.tip(), commit);
    assert_eq!(changed, ["a.txt", "b.txt"]);
    assert_eq!(two.show(&commit, "a.txt").unwrap(), "ours and theirs\n");
}

#[test]
fn a_file_added_by_both_is_marked() {
    let two = Two::new(&[], (&[("n.txt", b"ours\n")], &[]), (&[("n.txt", b"theirs\n")], &[]));
    let marked = two.conflict(&["n.txt"]);
    let both = two.show(&marked, "n.txt").unwrap();
    assert!(both.contains("ours\n=======\ntheirs\n"), "{both}");
}

#[test]
fn a_file_that_one_changed_and_the_other_removed_is_kept_changed() {
    let two = Two::new(&[], (&[("a.txt", b"changed\n")], &[]), (&[], &["a.txt"]));
    let marked = two.conflict(&["a.txt"]);
    assert_eq!(two.show(&marked, "a.txt").unwrap(), "changed\n");
}

#[test]
fn a_binary_file_in_conflict_stays_as_the_branch_has_it() {
    let two = Two::new(&[("b", b"\0base")], (&[("b", b"\0ours")], &[]), (&[("b", b"\0theirs")], &[]));
    let marked = two.conflict(&["b"]);
    assert_eq!(two.show(&marked, "b").unwrap(), "\0ours");
}

#[test]
fn a_file_against_a_directory_keeps_both() {
    let two = Two::new(&[], (&[("x", b"file\n")], &[]), (&[("x/y.txt", b"inside\n")], &[]));
    let aside = format!("x~{}", two.ours);
    let marked = two.conflict(&[&aside]);
    assert_eq!(two.show(&marked, &aside).unwrap(), "file\n");
    assert_eq!(two.show(&marked, "x/y.txt").unwrap(), "inside\n");
}

#[test]
fn a_file_against_a_link_keeps_both() {
    let mut two = Two::new(&[], (&[("x", b"file\n")], &[]), (&[], &[]));
    two.child = commit_entry(&two.world, &two.world.base, "120000", "x", b"a.txt");
    let aside = format!("x~{}", two.ours);
    let marked = two.conflict(&["x", &aside]);
    assert_eq!(two.show(&marked, &aside).unwrap(), "file\n");
    let listed = git(two.world.private.dir(), &["ls-tree", marked.as_str(), "x"]);
    assert!(listed.starts_with("120000 blob"), "{listed}");
}

#[test]
fn a_file_added_with_two_modes_is_a_conflict_without_markers() {
    let mut two = Two::new(&[], (&[("x", b"same\n")], &[]), (&[], &[]));
    two.child = commit_entry(&two.world, &two.world.base, "100755", "x", b"same\n");
    let marked = two.conflict(&["x"]);
    assert_eq!(two.show(&marked, "x").unwrap(), "same\n");
    two.child = commit_entry(&two.world, &marked, "100755", "x", b"same\n");
    let request = JoinRequest { must_be_resolved: vec!["x".to_owned()], ..two.request() };
    let answer = join(&two.world.private, &request).unwrap();
    let Joined::Done { commit, .. } = answer else { panic!("{answer:?}") };
    let listed = git(two.world.private.dir(), &["ls-tree", commit.as_str(), "x"]);
    assert!(listed.starts_with("100755 blob"), "{listed}");
}

#[test]
fn a_file_renamed_two_ways_keeps_both() {
    let text = b"a long enough line\nand another one\n";
    let two = Two::new(&[("o.txt", text)], (&[("p.txt", text)], &["o.txt"]), (&[("q.txt", text)], &["o.txt"]));
    let marked = two.conflict(&["o.txt", "p.txt", "q.txt"]);
    assert!(two.show(&marked, "p.txt").is_some() && two.show(&marked, "q.txt").is_some());
}

#[test]
fn a_directory_renamed_to_two_places_is_a_conflict_though_no_file_is() {
    let names: Vec<String> = (1..=4).map(|n| format!("d/f{n}")).collect();
    let content: Vec<String> = (1..=4).map(|n| format!("some line {n}\nsome other line {n}\n")).collect();
    let base: Vec<(&str, &[u8])> =
        names.iter().zip(&content).map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    let moved: Vec<(String, &[u8])> = base
        .iter()
        .enumerate()
        .map(|(n, (name, text))| (name.replace("d/", if n < 2 { "e/" } else { "g/" }), *text))
        .collect();
    let moved: Vec<(&str, &[u8])> = moved.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let removed: Vec<&str> = names.iter().map(String::as_str).collect();
    let two = Two::new(&base, (&[("d/new.txt", b"new\n")], &[]), (&moved, &removed));
    two.conflict(&["d"]);
}

#[test]
fn a_conflict_in_a_file_of_an_odd_name_is_known_again() {
    let odd = "dir ü/a\n\"b\"\t";
    let two = Two::new(&[], (&[(odd, b"ours\n")], &[]), (&[(odd, b"theirs\n")], &[]));
    let answer = join(&two.world.private, &two.request()).unwrap();
    let Joined::Conflict { paths, marked } = answer else { panic!("{answer:?}") };
    let again = JoinRequest { child: marked, must_be_resolved: paths.clone(), ..two.request() };
    assert_eq!(join(&two.world.private, &again).unwrap(), Joined::Unresolved { paths });
}

#[test]
fn of_two_children_joined_at_once_one_is_told_that_the_branch_moved() {
    let two = apart();
    let other = commit_on(&two.world, &two.world.base, &[("third.txt", b"3\n")], &[], "r3/1");
    let requests =
        [two.request(), JoinRequest { child: other, text: text("Join task 3", "r1", "r1/9"), ..two.request() }];
    let answers: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> =
            requests.iter().map(|request| scope.spawn(|| join(&two.world.private, request))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let done = answers.iter().filter(|answer| matches!(answer, Ok(Joined::Done { .. }))).count();
    let moved = answers.iter().filter(|answer| matches!(answer, Err(GitError::Moved { .. }))).count();
    assert_eq!((done, moved), (1, 1), "{answers:?}");
}

#[test]
fn the_branches_of_children_are_published_beside_their_parents() {
    let two = apart();
    let Joined::Done { commit, .. } = join(&two.world.private, &two.request()).unwrap() else { panic!("no join") };
    let child = branch("autonomous/p-task-2");
    let put =
        |name: &BranchName, commit: &CommitId| publish(&two.world.private, &two.world.user, name, commit).unwrap();
    assert_eq!(put(&parent(), &two.ours), Published::Done);
    assert_eq!(put(&child, &two.child), Published::Done);
    assert_eq!(put(&child, &two.child), Published::AlreadyThere);
    assert_eq!(put(&parent(), &commit), Published::Done);
    assert_eq!(two.world.user.branch_tip(&child).unwrap(), two.child);
    std::fs::remove_dir_all(two.world.private.dir()).unwrap();
    git(&two.world.top(), &["fsck", "--strict", "--connectivity-only"]);
    assert_eq!(
        git(&two.world.top(), &["branch", "--merged", "autonomous/p", "--list", "*-task-2"]),
        "autonomous/p-task-2"
    );
}
