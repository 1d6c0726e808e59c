/** The generators that are tried, and what each needs to make, compile and run a client. */
import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '../..');
const GENERATOR = 'openapi-generator-cli';

/** A command, with its arguments. */
export type Command = readonly [string, ...string[]];

/** How a client is made, in a folder of its own that holds `openapi.json` and the program. */
export interface Client {
  readonly name: string;
  /** What must be on the PATH. */
  readonly tools: readonly string[];
  /** Tells the version of the generator. */
  readonly version: Command;
  /** The name that the program gets in the folder; its source is in `programs`. */
  readonly program: readonly [from: string, to: string];
  /** Files that the generator or the compiler reads, by path. */
  readonly files?: Readonly<Record<string, string>>;
  readonly generate: Command;
  /** Gets what generated code depends on. Where that fails, the client is left out. */
  readonly fetch: readonly Command[];
  readonly compile: (folder: string) => readonly Command[];
  readonly run: Command;
}

function openApiGenerator(language: string): Pick<Client, 'name' | 'version' | 'generate'> {
  return {
    name: language,
    version: [GENERATOR, 'version'],
    generate: [GENERATOR, 'generate', '-i', 'openapi.json', '-g', language, '-o', 'client'],
  };
}

const PYTHON: Client = {
  ...openApiGenerator('python'),
  tools: [GENERATOR, 'java', 'python3'],
  program: ['python.py', 'client/main.py'],
  fetch: [['python3', '-c', 'import dateutil, pydantic, urllib3']],
  compile: () => [['python3', '-m', 'compileall', '-q', 'client']],
  run: ['python3', 'client/main.py'],
};

const OPENAPI_PYTHON_CLIENT: Client = {
  name: 'openapi-python-client',
  tools: ['openapi-python-client', 'python3'],
  version: ['openapi-python-client', '--version'],
  program: ['openapi-python-client.py', 'main.py'],
  // It knows neither of these types by itself.
  files: {
    'config.yml':
      'content_type_overrides:\n  application/x-pem-file: text/plain\n  application/pdf: application/octet-stream\n',
  },
  generate: [
    ...(['openapi-python-client', 'generate', '--path', 'openapi.json', '--output-path', 'client'] as const),
    ...['--config', 'config.yml', '--overwrite'],
  ],
  fetch: [['python3', '-c', 'import attrs, dateutil, httpx']],
  compile: () => [['python3', '-m', 'compileall', '-q', 'client']],
  run: ['python3', 'main.py'],
};

const GO: Client = {
  ...openApiGenerator('go'),
  tools: [GENERATOR, 'java', 'go'],
  program: ['go.go', 'client/cmd/main.go'],
  fetch: [
    ['rm', '-rf', 'client/test'],
    ['go', '-C', 'client', 'mod', 'tidy'],
  ],
  compile: () => [['go', '-C', 'client', 'build', '-o', '../main', './cmd']],
  run: ['./main'],
};

const OAPI_CODEGEN: Client = {
  name: 'oapi-codegen',
  tools: ['oapi-codegen', 'go'],
  version: ['oapi-codegen', '-version'],
  program: ['oapi-codegen.go', 'client/main.go'],
  files: { 'client/go.mod': 'module example.test/client\n\ngo 1.24\n', 'client/vault/.keep': '' },
  generate: [
    ...(['oapi-codegen', '-generate', 'types,client', '-package', 'vault'] as const),
    ...['-o', 'client/vault/vault.go', 'openapi.json'],
  ],
  fetch: [['go', '-C', 'client', 'mod', 'tidy']],
  compile: () => [['go', '-C', 'client', 'build', '-o', '../main', '.']],
  run: ['./main'],
};

const JAVA: Client = {
  ...openApiGenerator('java'),
  tools: [GENERATOR, 'java', 'javac', 'mvn'],
  program: ['Main.java', 'client/src/main/java/Main.java'],
  fetch: [
    [
      ...(['mvn', '-q', '-B', '-f', 'client/pom.xml', 'dependency:copy-dependencies'] as const),
      ...['-DincludeScope=compile', '-DoutputDirectory=../lib'],
    ],
  ],
  compile: (folder) => {
    const sources = [...new Glob('client/src/main/java/**/*.java').scanSync({ cwd: folder })];
    return [['javac', '-nowarn', '-cp', 'lib/*', '-d', 'classes', ...sources]];
  },
  run: ['java', '-cp', 'classes:lib/*', 'Main'],
};

const TYPESCRIPT: Client = {
  ...openApiGenerator('typescript-fetch'),
  tools: [GENERATOR, 'java'],
  program: ['typescript-fetch.js', 'main.js'],
  fetch: [],
  compile: () => [
    [
      join(ROOT, 'node_modules/.bin/tsc'),
      ...['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom'],
      ...['--module', 'esnext', '--moduleResolution', 'bundler', 'client/index.ts'],
    ],
  ],
  run: [process.execPath, 'main.js'],
};

/** All clients, in the order in which they are tried. */
export const CLIENTS: readonly Client[] = [PYTHON, GO, JAVA, TYPESCRIPT, OPENAPI_PYTHON_CLIENT, OAPI_CODEGEN];
