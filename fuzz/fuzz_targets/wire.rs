#![no_main]
//! What the API may be asked: read or refused, and what was read is written as it was.

use serde::Serialize;
use serde::de::DeserializeOwned;

fn there_and_back<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(data: &[u8]) {
    let Ok(read) = serde_json::from_slice::<T>(data) else { return };
    let written = serde_json::to_vec(&read).expect("what was read can be written");
    assert_eq!(serde_json::from_slice::<T>(&written).expect("and read again"), read);
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((which, data)) = data.split_first() else { return };
    match which % 12 {
        0 => there_and_back::<wire::NewRun>(data),
        1 => there_and_back::<wire::NewTask>(data),
        2 => there_and_back::<wire::TaskUpdate>(data),
        3 => there_and_back::<wire::TaskMerge>(data),
        4 => there_and_back::<wire::DecideRequest>(data),
        5 => there_and_back::<wire::ApproveRequest>(data),
        6 => there_and_back::<wire::RequestChanges>(data),
        7 => there_and_back::<wire::AnswerRequest>(data),
        8 => there_and_back::<wire::BatchRequest>(data),
        9 => there_and_back::<wire::VariantsRequest>(data),
        10 => there_and_back::<wire::MessageRequest>(data),
        _ => there_and_back::<wire::OverturnRequest>(data),
    }
});
