import type { OpenedEvent, StreamedEntry } from '../../workers/jobs/audit/jobs.ts';

export interface SinkEvent {
  /** Ms since 1970; undefined for an entry that does not open. */
  readonly timeMs: number | undefined;
  /** One JSON object of ASCII characters, without a line end. */
  readonly text: string;
}

/** The log of an entry. Account and key have their current names, or their ids if they are deleted. */
interface LogName {
  readonly aid: string;
  readonly account: string;
}

interface ItemLogName extends LogName {
  readonly kid: string;
  readonly key: string;
  readonly token: string;
}

/** Makes an event of JSON in ASCII, since collectors treat other characters differently. */
function eventOf(timeMs: number | undefined, members: object): SinkEvent {
  const text = JSON.stringify(members).replaceAll(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return { timeMs, text };
}

/** Returns key and token of the name of an item; none for other names. */
function itemOf(object: string): { readonly key?: string; readonly token?: string } {
  const [noun, key, token] = object.split('/');
  return noun === 'item' && key !== undefined && token !== undefined ? { key, token } : {};
}

/** Makes the event of a security log entry. A missing entry, or one that does not open, has the outcome `damaged`. */
export function securityEventOf(
  { aid, account }: LogName,
  sequence: number,
  entry: OpenedEvent | null,
): SinkEvent {
  const log = { log: 'security', sequence, account, account_id: aid };
  if (entry === null) {
    return eventOf(undefined, { ...log, outcome: 'damaged' });
  }
  const { timeMs, action, outcome, actor, actorName, ip, userAgent, requestId, object, count } = entry;
  return eventOf(timeMs, {
    ...log,
    time: new Date(timeMs).toISOString(),
    ...{ action, outcome, actor, actor_name: actorName, ip, user_agent: userAgent, request_id: requestId },
    ...(object === '' ? {} : { object, ...itemOf(object) }),
    ...(count === 1 ? {} : { count }),
  });
}

/** Makes the event of an action log entry. A missing entry, or one that does not open, has the outcome `damaged`. */
export function itemEventOf(name: ItemLogName, sequence: number, entry: StreamedEntry | null): SinkEvent {
  const { aid, account, kid, key, token } = name;
  const log = { log: 'item', sequence, account, account_id: aid, key, key_id: kid, token };
  if (entry === null) {
    return eventOf(undefined, { ...log, outcome: 'damaged' });
  }
  const { timeMs, action, source, outcome, credential, credentialName, endpoint } = entry;
  const { requestId, ip, userAgent } = entry;
  return eventOf(timeMs, {
    ...log,
    time: new Date(timeMs).toISOString(),
    ...{ action, source, outcome, actor: credential === '' ? account : `${account}/${credential}` },
    ...(credentialName === '' ? {} : { actor_name: credentialName }),
    ...(endpoint === '' ? {} : { endpoint }),
    ...{ request_id: requestId, ip, user_agent: userAgent },
  });
}
