/** Type-checks examples of pages as programs of their own, all in one run of the compiler. */
import { join } from 'node:path';
import ts from 'typescript';

const ROOT = join(import.meta.dir, '..', '..');
const GIVEN = join(ROOT, 'given.d.ts');

/** What examples of the SDK's comments take from their surroundings: every export, and clients that were made before. */
const SURROUNDINGS = `
declare const Vault: typeof import('@cardvault/sdk').Vault;
declare const VaultApiError: typeof import('@cardvault/sdk').VaultApiError;
declare const VaultError: typeof import('@cardvault/sdk').VaultError;
declare const VaultConnectionError: typeof import('@cardvault/sdk').VaultConnectionError;
declare const VaultTimeoutError: typeof import('@cardvault/sdk').VaultTimeoutError;
declare const VaultWebhookError: typeof import('@cardvault/sdk').VaultWebhookError;
declare const captureClient: typeof import('@cardvault/sdk').captureClient;
declare const retrieveClient: typeof import('@cardvault/sdk').retrieveClient;
declare const webhooks: typeof import('@cardvault/sdk').webhooks;
declare const vaultPlaceholder: typeof import('@cardvault/sdk').vaultPlaceholder;
declare const client: import('@cardvault/sdk').Vault;
declare const checkout: import('@cardvault/sdk').CaptureClient;
declare const desk: import('@cardvault/sdk').RetrieveClient;
declare const username: string;
declare const password: string;
declare const passphrase: string;
declare const secret: string;
declare const token: string;
declare const url: string;
`;

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.Preserve,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ['lib.esnext.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
  types: [],
  jsx: ts.JsxEmit.ReactJSX,
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  paths: {
    '@cardvault/sdk': [join(ROOT, 'sdk', 'index.ts')],
    '@cardvault/forms': [join(ROOT, 'forms', 'index.ts')],
    '@cardvault/forms/react': [join(ROOT, 'forms', 'react.ts')],
  },
};

/** The errors of each program, by its name; a program without any is not in it. */
export function typeErrors(programs: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const texts = new Map([[GIVEN, SURROUNDINGS]]);
  const names = new Map<string, string>();
  for (const [name, code] of programs) {
    const path = join(ROOT, `example-${names.size}.tsx`);
    names.set(path, name);
    texts.set(path, `${code}\nexport {};\n`);
  }
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, ...rest) => {
    const text = texts.get(path);
    return text === undefined
      ? getSourceFile(path, ...rest)
      : ts.createSourceFile(path, text, ts.ScriptTarget.ESNext);
  };
  const program = ts.createProgram([...texts.keys()], OPTIONS, host);
  const found = [...names].map(([path, name]) => {
    const file = program.getSourceFile(path);
    const errors = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return [
      name,
      errors.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    ] as const;
  });
  return new Map(found.filter(([, errors]) => errors.length > 0));
}
