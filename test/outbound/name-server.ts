/** A name server on this machine, over UDP and TCP, whose answers a test decides by name and type. */
import dgram from 'node:dgram';
import { startSocketServer } from '../helpers/socket-server.ts';

/** Addresses of the type that is asked for; a word: no such name, no answer at all, or one that only fits TCP. */
export type NameAnswer =
  | readonly string[]
  | 'none'
  | 'failure'
  | 'silent'
  | { readonly overTcp: readonly string[] };

export interface NameServer {
  /** As a resolver is told about it. */
  readonly address: string;
  /** Every question so far: `udp A name`. */
  readonly questions: readonly string[];
  /** Answers the silent questions so far after all: there are no such names. */
  answerSilent(): void;
  stop(): void;
}

type Question = { readonly name: string; readonly type: 'A' | 'AAAA'; readonly end: number };

function readQuestion(message: Buffer): Question {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return {
    name: labels.join('.'),
    type: message.readUInt16BE(at + 1) === 1 ? 'A' : 'AAAA',
    end: at + 5,
  };
}

function bytesOf(address: string): Buffer {
  return address.includes(':')
    ? Buffer.from(
        address.replaceAll(/\w+:?/g, (part) => part.replace(':', '').padStart(4, '0')),
        'hex',
      )
    : Buffer.from(address.split('.').map(Number));
}

function recordOf(address: string, ttlSeconds: number): Buffer {
  const data = bytesOf(address);
  const type = data.length === 4 ? 1 : 28;
  return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, ttlSeconds, 0, data.length]), data]);
}

const CODES = { none: 3, failure: 2 } as const;

function reply(
  message: Buffer,
  end: number,
  answer: NameAnswer,
  overTcp: boolean,
  ttlSeconds: number,
): Buffer {
  const cut = typeof answer === 'object' && 'overTcp' in answer && !overTcp;
  const long = typeof answer === 'object' && 'overTcp' in answer && overTcp ? answer.overTcp : [];
  const addresses = Array.isArray(answer) ? (answer as readonly string[]) : long;
  const code = answer === 'none' || answer === 'failure' ? CODES[answer] : 0;
  const head = Buffer.from(message.subarray(0, 12));
  head.writeUInt16BE(0x8180 | code | (cut ? 0x200 : 0), 2);
  head.writeUInt16BE(addresses.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([
    head,
    message.subarray(12, end),
    ...addresses.map((address) => recordOf(address, ttlSeconds)),
  ]);
}

/** Starts one; IPv6 addresses of answers are written out in all eight parts, times to live are at most 255 s. */
export async function startNameServer(
  answerFor: (name: string, type: 'A' | 'AAAA') => NameAnswer,
  ttlOf: (name: string) => number = () => 0,
): Promise<NameServer> {
  const questions: string[] = [];
  const silent: (() => void)[] = [];
  const answer = (message: Buffer, over: 'udp' | 'tcp'): Buffer | undefined => {
    const { name, type, end } = readQuestion(message);
    questions.push(`${over} ${type} ${name}`);
    const found = answerFor(name, type);
    return found === 'silent' ? undefined : reply(message, end, found, over === 'tcp', ttlOf(name));
  };
  const tcp = await startSocketServer({}, (socket) => {
    socket.on('data', (data) => {
      const found = answer(data.subarray(2), 'tcp');
      const length = Buffer.alloc(2);
      length.writeUInt16BE(found?.length ?? 0);
      socket.end(found === undefined ? '' : Buffer.concat([length, found]));
    });
  });
  const udp = dgram.createSocket('udp4');
  udp.on('message', (message, { port: from, address }) => {
    const found = answer(message, 'udp');
    if (found === undefined) {
      const { end } = readQuestion(message);
      silent.push(() => udp.send(reply(message, end, 'none', false, 0), from, address));
    } else {
      udp.send(found, from, address);
    }
  });
  await new Promise<void>((resolve) => udp.bind(tcp.port, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${tcp.port}`,
    questions,
    answerSilent: () => silent.splice(0).forEach((answer) => void answer()),
    stop: () => {
      udp.close();
      tcp.stop();
    },
  };
}
