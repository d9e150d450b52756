//! What is remembered of people and their browsers, and how it lies on the disk.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn owner() -> Holder {
    Holder::Owner(Mark::of(b"token"))
}

#[test]
fn a_session_outlives_the_server_and_ends_after_thirty_days() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.json");
    let now = Timestamp::now();
    let secret = People::open(path.clone()).unwrap().log_in(owner(), now).unwrap();
    let people = People::open(path.clone()).unwrap();
    assert_eq!(people.session(&secret, now), Some(owner()));
    assert_eq!(people.session("other", now), None);
    let late = now.checked_add(SESSION_LIFE).unwrap();
    assert_eq!(people.session(&secret, late), None);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&secret), "only digests lie on the disk");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn logging_out_ends_one_session_or_all_of_somebody() {
    let folder = tempfile::tempdir().unwrap();
    let people = People::open(folder.path().join("people.json")).unwrap();
    let now = Timestamp::now();
    let [one, two] = [(); 2].map(|()| people.log_in(owner(), now).unwrap());
    let user = people.log_in(Holder::User("bo".to_owned()), now).unwrap();
    assert_eq!(people.log_out(&LogOut::One(&one)).unwrap(), 1);
    assert_eq!((people.session(&one, now), people.session(&two, now)), (None, Some(owner())));
    assert_eq!(people.log_out(&LogOut::AllOfOwner).unwrap(), 1);
    assert!(people.session(&two, now).is_none() && people.session(&user, now).is_some());
    assert_eq!(people.log_out(&LogOut::AllOf("bo")).unwrap(), 1);
    assert!(people.session(&user, now).is_none());
}

#[test]
fn a_user_comes_with_a_token_and_goes_with_all_browsers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.json");
    let people = People::open(path.clone()).unwrap();
    let now = Timestamp::now();
    let token = people.add("bo", Role::Reviewer, now).unwrap().unwrap();
    assert_eq!(people.add("bo", Role::Admin, now).unwrap(), None, "the name is taken");
    assert!(!std::fs::read_to_string(&path).unwrap().contains(&token));
    let cookie = people.log_in(Holder::User("bo".to_owned()), now).unwrap();
    let again = People::open(path.clone()).unwrap();
    assert_eq!(again.with_token(&token), Some(("bo".to_owned(), Role::Reviewer)));
    assert_eq!(again.users(now).iter().map(|user| user.browsers).collect::<Vec<_>>(), [1]);
    assert!(again.revoke("bo").unwrap().is_some() && again.revoke("bo").unwrap().is_none());
    for people in [again, People::open(path).unwrap()] {
        assert!(people.with_token(&token).is_none() && people.session(&cookie, now).is_none());
    }
}

#[test]
fn only_so_many_browsers_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    let people = People::open(folder.path().join("people.json")).unwrap();
    let now = Timestamp::now();
    let first = people.log_in(owner(), now).unwrap();
    let rest: Vec<String> = (0..MOST_SESSIONS).map(|_| people.log_in(owner(), now).unwrap()).collect();
    assert!(people.session(&first, now).is_none());
    assert!(rest.iter().all(|secret| people.session(secret, now).is_some()));
}

#[test]
fn a_file_that_cannot_be_read_is_no_empty_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.json");
    std::fs::write(&path, "{").unwrap();
    assert!(People::open(path.clone()).is_err());
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
    assert!(People::open(path).is_err());
}
