/**
 * Writes the bill of materials of an image: every package that lies in its folder, with version, licence and the
 * digest that the lock file holds it to. CycloneDX 1.6 (ECMA-424), the same bytes for the same files. Ends with exit
 * code 1 where a package is not in the lock file, or has a licence that is not on the list.
 *
 *     bun scripts/sbom.ts FOLDER
 */
import { join } from 'node:path';
import { Glob } from 'bun';

const LICENCES: ReadonlySet<string> = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
]);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | undefined;
}

interface Component {
  readonly type: 'library' | 'platform';
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
}

async function readManifest(path: string): Promise<Manifest> {
  return await Bun.file(path).json();
}

/** Package names are percent-encoded but for the slash of their scope (package-url specification). */
function purlOf({ name, version }: Manifest): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function fail(reason: string): never {
  process.stderr.write(`sbom: ${reason}\n`);
  process.exit(1);
}

/** The SHA-512 that the lock file names for each `name@version`, in hex. */
async function readDigests(folder: string): Promise<ReadonlyMap<string, string>> {
  const lock = await Bun.file(join(folder, 'bun.lock')).text();
  const entries = lock.matchAll(/^ {4}"[^"]+": \["([^"]+)",.*"sha512-([A-Za-z0-9+/=]+)"\],?$/gm);
  return new Map(
    [...entries].map(([, id = '', digest = '']) => [id, Buffer.from(digest, 'base64').toString('hex')]),
  );
}

function toComponent(manifest: Manifest, digests: ReadonlyMap<string, string>): Component {
  const { name, version, license = '' } = manifest;
  const digest = digests.get(`${name}@${version}`) ?? fail(`${name}@${version} is not in the lock file`);
  if (!LICENCES.has(license)) {
    fail(`${name}@${version} has a licence that is not on the list`);
  }
  return {
    type: 'library',
    name,
    version,
    purl: purlOf(manifest),
    licenses: [{ license: { id: license } }],
    hashes: [{ alg: 'SHA-512', content: digest }],
  };
}

async function readComponents(folder: string): Promise<readonly Component[]> {
  const digests = await readDigests(folder);
  const manifests = await Array.fromAsync(
    new Glob('node_modules/**/package.json').scan({ cwd: folder, dot: true }),
  );
  const packages = manifests.filter((path) =>
    /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/@][^/]*\/package\.json$/.test(path),
  );
  const found = await Promise.all(packages.map((path) => readManifest(join(folder, path))));
  const components = new Map(found.map((manifest) => [purlOf(manifest), toComponent(manifest, digests)]));
  return [...components.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

const folder = process.argv[2] ?? fail('name the folder of the image');
const product = await readManifest(join(folder, 'package.json'));
const runtime = { name: 'bun', version: Bun.version };
process.stdout.write(
  `${JSON.stringify(
    {
      bomFormat: 'CycloneDX',
      specVersion: '1.6',
      version: 1,
      metadata: {
        component: {
          type: 'application',
          name: product.name,
          version: product.version,
          licenses: [{ license: { id: product.license } }],
        },
      },
      components: [
        { type: 'platform', ...runtime, purl: purlOf(runtime), licenses: [{ license: { id: 'MIT' } }] },
        ...(await readComponents(folder)),
      ],
    },
    undefined,
    2,
  )}\n`,
);
