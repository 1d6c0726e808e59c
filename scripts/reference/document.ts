/** The parts of an OpenAPI document that its pages show. */
import type { ErrorBody, RelayErrorBody } from '../../server/schema/common.ts';
import type { Schema } from './schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

/** What a request or a reply contains, by its content type. */
export type Content = Readonly<
  Record<
    string,
    {
      readonly schema: Schema;
      readonly example?: unknown;
      readonly examples?: Readonly<Record<string, { readonly value: ErrorBody | RelayErrorBody }>>;
    }
  >
>;

interface Reply {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Content;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, Reply>>;
}

/** An operation with its method, and its path from `/v1` on; without one, it is a call that the vault makes. */
export interface Call extends Operation {
  readonly method: string;
  readonly path: string | undefined;
}

export interface Tag {
  readonly name: string;
  readonly 'x-displayName': string;
  readonly description: string;
  readonly externalDocs?: { readonly url: string };
}

export interface SecurityScheme {
  readonly scheme?: string;
  readonly name?: string;
  readonly description: string;
}

type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

export interface ApiDocument {
  readonly info: { readonly description: string };
  readonly tags: readonly Tag[];
  readonly paths: Paths;
  readonly webhooks: Paths;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>;
    readonly headers: Readonly<Record<string, { readonly description: string }>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

/** Every operation of a document, then the calls that the vault makes. */
export function callsOf({ paths, webhooks }: ApiDocument): readonly Call[] {
  const list = (map: Paths, isOurs: boolean): readonly Call[] =>
    Object.entries(map).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        method: method.toUpperCase(),
        path: isOurs ? `/v1${path}` : undefined,
      })),
    );
  return [...list(paths, true), ...list(webhooks, false)];
}

/** Where a description names a schema that nothing refers to, as generators could not tell the kinds apart: `as Tree`. */
const NAMED = /\bas ([A-Z]\w+)/g;

/** Puts what is referred to in the place of each reference. Nothing in the document contains itself. */
function inlined(value: unknown, root: ApiDocument): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => inlined(each, root));
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if ('$ref' in value && typeof value.$ref === 'string') {
    const steps = value.$ref.split('/').slice(1);
    const target = steps.reduce<unknown>((at, step) => Object(at)[step], root);
    return inlined(target, root);
  }
  const text = 'description' in value ? String(value.description) : '';
  const named = [...text.matchAll(NAMED)].flatMap(([, name = '']) => root.components.schemas[name] ?? []);
  const whole = named.length === 0 ? value : { ...value, anyOf: named };
  return Object.fromEntries(Object.entries(whole).map(([name, member]) => [name, inlined(member, root)]));
}

/** Reads the published document, with all references followed. A test compares the file with the routes. */
export async function readApi(file: URL): Promise<ApiDocument> {
  const document: ApiDocument = await Bun.file(file).json();
  return inlined(document, document) as ApiDocument;
}
