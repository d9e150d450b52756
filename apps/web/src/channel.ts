// One channel as it is heard: the whole of it, and what is being said to an open question right now. Pure.
import type { Channel, ChannelMessage } from "./http";
import { further, type Heard } from "./live";

export type Talk = { channel: Channel | undefined; heard: ReadonlyMap<string, Heard> };
export const silence: Talk = { channel: undefined, heard: new Map() };

export function listen(talk: Talk, message: ChannelMessage): Talk {
  if (message.message === "channel") {
    const { channel } = message;
    const open = new Set((channel.questions ?? []).filter((question) => question.state === "open").map((question) => question.session));
    // What was heard gives way to what is stored.
    return { channel, heard: new Map([...talk.heard].filter(([session]) => open.has(session))) };
  }
  const now = further(talk.heard.get(message.session), message.name, message.data);
  const heard = new Map(talk.heard);
  if (now) heard.set(message.session, now);
  else heard.delete(message.session);
  return { ...talk, heard };
}

/** What it is called where nobody gave it a name. */
export const titleOf = (channel: Channel): string => channel.title || channel.questions?.[0]?.text || "Untitled";
