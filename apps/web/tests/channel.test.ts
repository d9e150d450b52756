import { expect, test } from "vitest";
import { listen, silence, titleOf } from "../src/channel";
import type { Channel, ChannelMessage } from "../src/http";

const channel = (...states: string[]) => ({ message: "channel", channel: { id: "c", project: "/p", title: "", createdBy: "ada", createdAt: "", questions: states.map((state, at) => ({ number: at + 1, session: `c/${at + 1}`, text: `question ${at + 1}`, state })) } }) as unknown as ChannelMessage;
const says = (session: string, text: string) => ({ message: "activity", session, name: "turn:message_delta", data: { turn: 1, text } }) as unknown as ChannelMessage;

test("words of an answer add up while it is being given", () => {
  const talk = [channel("open"), says("c/1", "I "), says("c/1", "look.")].reduce(listen, silence);
  expect(talk.heard.get("c/1")?.items).toEqual([{ kind: "message", text: "I look." }]);
});

test("what was heard gives way to what is stored", () => {
  const talk = [channel("open"), says("c/1", "I look."), channel("answered")].reduce(listen, silence);
  expect([talk.heard.size, talk.channel?.questions?.[0]?.state]).toEqual([0, "answered"]);
});

test("two open questions are heard apart", () => {
  const talk = [channel("open", "open"), says("c/1", "one"), says("c/2", "two")].reduce(listen, silence);
  expect([...talk.heard.keys()]).toEqual(["c/1", "c/2"]);
});

test("a channel without a title is called by its first question", () => {
  const { channel: one } = channel("open") as Extract<ChannelMessage, { message: "channel" }>;
  expect([titleOf(one), titleOf({ ...one, questions: [] } as Channel)]).toEqual(["question 1", "Untitled"]);
});
