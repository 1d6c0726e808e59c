import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError } from '@sinclair/typebox/compiler';
import { VaultError } from '../../core/errors.ts';
import { parseJson } from '../../domain/json/json.ts';
import { toPlain } from '../../domain/json/plain.ts';

function tooLarge(): VaultError {
  return new VaultError('body_too_large', { field: 'body' });
}

/** The Content-Length of a request; undefined when it has none, as with chunked bodies. */
function declaredLength(headers: Headers): number | undefined {
  const text = headers.get('content-length');
  return text === null ? undefined : Number(text);
}

/** Refuses a body whose declared length is over the limit, before a byte of it is read. */
export function refuseLargeBody(headers: Headers, bytesMax: number): void {
  const length = declaredLength(headers);
  if (length !== undefined && !(length <= bytesMax)) {
    throw tooLarge();
  }
}

/**
 * Whether a body that nobody reads is long or endless, so that the connection should end with the reply
 * instead of taking in the rest of it.
 */
export function hasLongBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || (declaredLength(headers) ?? 0) > 65_536;
}

/** One buffer of its own for the pieces: these bytes may be handed to another thread. */
function joinChunks(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function broken(): VaultError {
  return new VaultError('invalid_request', { field: 'body' });
}

/** The outcome of `reading`; refused when it takes longer, or breaks off, which is the client's fault too. */
function within<Value>(reading: Promise<Value>, timeoutMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(broken()), timeoutMs);
    reading.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      () => {
        clearTimeout(timer);
        reject(broken());
      },
    );
  });
}

async function readChunks(
  stream: ReadableStream<Uint8Array>,
  bytesMax: number,
  timeoutMs: number,
): Promise<Uint8Array> {
  const reader = stream.getReader();
  const endMs = performance.now() + timeoutMs;
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const step = await within(reader.read(), endMs - performance.now());
      if (step.done) {
        return joinChunks(chunks, length);
      }
      length += step.value.byteLength;
      if (length > bytesMax) {
        throw tooLarge();
      }
      chunks.push(step.value);
    }
  } catch (error) {
    reader.cancel().catch(() => undefined);
    throw error;
  }
}

/**
 * Reads a request's body: at most `bytesMax` bytes, within `timeoutMs`. A declared length is the caller's to
 * check first (`refuseLargeBody`); without one the body is counted as it comes and cut off at the limit, so
 * that an endless body costs no memory. No body is an empty one.
 */
export async function readBody(request: Request, bytesMax: number, timeoutMs: number): Promise<Uint8Array> {
  const length = declaredLength(request.headers);
  if (length === 0) {
    return new Uint8Array(0);
  }
  if (length !== undefined) {
    return within(request.bytes(), timeoutMs);
  }
  return request.body === null ? new Uint8Array(0) : readChunks(request.body, bytesMax, timeoutMs);
}

/** Where a value departs from its schema. In a union: within its only option that is of the value's kind. */
function pathOf(error: ValueError | undefined): string {
  const { path, errors } = error ?? { path: '', errors: [] };
  const deeper = errors.map((option) => pathOf(option.First())).filter((inner) => inner !== path);
  return deeper.length === 1 ? (deeper[0] ?? path) : path;
}

/** A schema itself, or the options of a union. */
function optionsOf(schema: TSchema): readonly TSchema[] {
  return schema['anyOf'] === undefined ? [schema] : schema['anyOf'].flatMap(optionsOf);
}

/** The schemas one step further down. */
function below(schemas: readonly TSchema[], step: string, isIndex: boolean): readonly TSchema[] {
  return schemas.flatMap(optionsOf).flatMap((schema) => {
    if (isIndex) {
      return schema['items'] ?? [];
    }
    const properties: object = schema['properties'] ?? {};
    return Object.hasOwn(properties, step) ? Reflect.get(properties, step) : [];
  });
}

/** The place of a fault as `body.a[2].b`, as far as the schema declares the names: callers' own never show. */
function fieldOf(schema: TSchema, path: string): string {
  let place = 'body';
  let at: readonly TSchema[] = [schema];
  for (const step of path.split('/').slice(1)) {
    const items = /^\d+$/.test(step) ? below(at, step, true) : [];
    at = items.length > 0 ? items : below(at, step, false);
    if (at.length === 0) {
      return place;
    }
    place += items.length > 0 ? `[${step}]` : `.${step}`;
  }
  return place;
}

/** Parses and checks a JSON body, once compiled per route. An empty body counts as an object without members. */
export function compileJsonBody(schema: TSchema): (bytes: Uint8Array) => unknown {
  const compiled = TypeCompiler.Compile(schema);
  return (bytes) => {
    const value = bytes.byteLength === 0 ? {} : toPlain(parseJson(bytes));
    if (compiled.Check(value)) {
      return value;
    }
    const path = pathOf(compiled.Errors(value).First());
    throw new VaultError('invalid_request', { field: fieldOf(schema, path) });
  };
}
