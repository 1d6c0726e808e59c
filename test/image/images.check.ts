/** Images are built from what a digest names, and from nothing else: with a program in the place of docker. */
import { afterAll, beforeEach, expect, test } from 'bun:test';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Glob, YAML } from 'bun';

const root = join(import.meta.dir, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'cv-images-'));
const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const NAMES = ['BUILD_IMAGE', 'BASE_IMAGE', 'REDIS_IMAGE'];

/** Prints the digest for each image that it is asked for, and what it is to build. */
function dockerThatSays(digest: string): void {
  writeFileSync(
    join(folder, 'bin/docker'),
    `#!/bin/sh\ncase $1 in\n  buildx) echo '${digest}' ;;\n  *) printf '%s\\n' "$@" ;;\nesac\n`,
    { mode: 0o755 },
  );
}

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  for (const path of ['deploy', 'scripts/images']) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  mkdirSync(join(folder, 'bin'));
  dockerThatSays(DIGEST);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(script: string, ...args: readonly string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    ['sh', join(folder, 'scripts/images', script), ...args],
    {
      env: { PATH: `${join(folder, 'bin')}:${process.env['PATH']}` },
    },
  );
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}

function pinned(): string {
  return readFileSync(join(folder, 'deploy/images.env'), 'utf8');
}

test.each(NAMES)('without the digest of %s nothing is built', (name) => {
  expect(run('pin.sh').code).toBe(0);
  const line = new RegExp(`^(${name}=[^@]+)@.*$`, 'm');
  for (const wrong of ['', '@sha256:0123', `@sha512:${'0'.repeat(64)}`, `@${DIGEST.toUpperCase()}`]) {
    writeFileSync(join(folder, 'deploy/images.env'), pinned().replace(line, `$1${wrong}`));
    const { code, out, err } = run('build.sh', '--tag', 'cardvault');
    expect([wrong, code, out]).toEqual([wrong, 1, '']);
    expect(err).toContain(`${name}=`);
    expect(run('pin.sh').code).toBe(0);
  }
});

test('with all digests the image is built from them', () => {
  expect(run('pin.sh')).toEqual({ code: 0, out: '', err: '' });
  const { code, out } = run('build.sh', '--tag', 'cardvault');
  expect(code).toBe(0);
  expect(out.trim().split('\n')).toEqual([
    'build',
    '--build-arg',
    `BUILD_IMAGE=node:22-bookworm-slim@${DIGEST}`,
    '--build-arg',
    `BASE_IMAGE=gcr.io/distroless/base-debian12:nonroot@${DIGEST}`,
    '--tag',
    'cardvault',
    '.',
  ]);
});

test('Kubernetes runs the Redis of the same digest', () => {
  expect(run('pin.sh').code).toBe(0);
  const path = join(folder, 'deploy/kubernetes/kustomization.yaml');
  const { images } = YAML.parse(readFileSync(path, 'utf8')) as { images: object[] };
  expect(images).toContainEqual({ name: 'redis', digest: DIGEST });
  expect(images).toContainEqual({
    name: 'cardvault',
    newName: 'registry.example.com/cardvault',
    newTag: '0.1.0',
  });
  const values = join(folder, 'deploy/helm/values.yaml');
  const { image, redis } = YAML.parse(readFileSync(values, 'utf8')) as {
    image: string;
    redis: { image: string };
  };
  expect([image, redis.image]).toEqual(['registry.example.com/cardvault:0.1.0', `redis@${DIGEST}`]);
  const once = [pinned(), readFileSync(path, 'utf8'), readFileSync(values, 'utf8')];
  expect(run('pin.sh').code).toBe(0);
  expect([pinned(), readFileSync(path, 'utf8'), readFileSync(values, 'utf8')]).toEqual(once);
});

test('a registry that names no digest changes nothing', () => {
  const before = pinned();
  for (const answer of ['', 'not found', 'sha256:0123']) {
    dockerThatSays(answer);
    expect(run('pin.sh').code).toBe(1);
    expect(pinned()).toBe(before);
  }
});

test('no other file names an image to be fetched', async () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  // Build arguments without a default: a build without digests fails.
  expect([...dockerfile.matchAll(/^ARG (.*)$/gm)].map(([, name]) => name)).toEqual(NAMES.slice(0, 2));
  expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual([
    `\${BUILD_IMAGE}`,
    `\${BASE_IMAGE}`,
  ]);
  const { services } = YAML.parse(readFileSync(join(root, 'deploy/compose.yaml'), 'utf8')) as {
    services: Record<string, { image: string }>;
  };
  const images = Object.values(services).map(({ image }) => image);
  expect(images).toEqual(['cardvault', expect.stringMatching(/^\$\{REDIS_IMAGE:\?.+\}$/)]);
  for (const path of new Glob('kubernetes/*.yaml').scanSync({ cwd: join(root, 'deploy') })) {
    const text = readFileSync(join(root, 'deploy', path), 'utf8');
    expect([path, [...text.matchAll(/^\s+image: (?!cardvault$|redis$)(.*)$/gm)]]).toEqual([path, []]);
  }
});
