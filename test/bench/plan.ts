/** A request as it goes over the wire, with places that change from one request to the next. */

/** Stands for ten digits that count up: in every request another number. */
export const SEQUENCE = '@SEQ@';

/** Stands for a line, picked at random, of the plan's list. */
export const LINE = '@LINE@';

const SEQUENCE_DIGITS = 10;

export interface Plan {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly lines?: readonly string[];
}

/** The digits that take the place of `SEQUENCE`, as many for each number. */
export function sequenceText(n: number): string {
  return String(n).padStart(SEQUENCE_DIGITS, '0');
}

/** The request of a plan as HTTP/1.1 text, its length that of every request that is made of it. */
export function requestText({ method, target, headers, body, lines }: Plan): string {
  const [first = '', ...others] = body?.includes(LINE) ? (lines ?? []) : [];
  if (others.some((line) => Buffer.byteLength(line) !== Buffer.byteLength(first))) {
    throw new RangeError('a line would change the length of the body');
  }
  const length = Buffer.byteLength(
    (body ?? '').replaceAll(SEQUENCE, sequenceText(0)).replaceAll(LINE, () => first),
  );
  const head = [
    `${method} ${target} HTTP/1.1`,
    'Host: localhost',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${length}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/** The requests of a plan as text, one for each of its lines. */
export function requestsOf(plan: Plan): readonly string[] {
  const text = requestText(plan);
  return plan.lines?.map((line) => text.replaceAll(LINE, () => line)) ?? [text];
}
