import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob, YAML } from 'bun';
import { SERVER_SETTING_NAMES } from '../../server/config/names.ts';

const root = join(import.meta.dir, '..', '..');
function read(path: string): Promise<string> {
  return Bun.file(join(root, path)).text();
}
const files = ['Dockerfile', ...new Glob('deploy/**/*').scanSync({ cwd: root })];

test('there is something to deploy with', () => {
  for (const path of ['deploy/compose.yaml', 'deploy/cardvault.service', 'deploy/kubernetes/vault.yaml']) {
    expect(files).toContain(path);
  }
});

test.each(files)('%s names no setting that is not one', async (path) => {
  const names = (await read(path)).match(/\bVAULT_[A-Z0-9_]+/g) ?? [];
  expect(names.filter((name) => !SERVER_SETTING_NAMES.some((known) => known === name))).toEqual([]);
});

test('the build sees what the image is laid out from, and nothing else', async () => {
  const script = await read('scripts/image-files.sh');
  const copied = /^cp -R (.*) "\$target"$/m.exec(script)?.[1]?.split(' ') ?? [];
  expect(copied).toContain('server');
  const scripts = ['artifact.ts', 'build-guide.ts', 'guide', 'image-files.sh', 'pack-sdk.ts', 'sbom.ts'];
  const needed = [...copied, 'docs', 'sdk', ...scripts.map((name) => `scripts/${name}`)];
  const seen = (await read('.dockerignore')).split('\n').flatMap((line) => /^!(.*)$/.exec(line)?.[1] ?? []);
  expect(seen.sort()).toEqual(needed.sort());
});

interface Container {
  readonly name: string;
  readonly securityContext: object;
  readonly readinessProbe: object;
}
interface Workload {
  readonly kind: string;
  readonly spec: {
    readonly template?: {
      readonly spec: { readonly securityContext: object; readonly containers: readonly Container[] };
    };
  };
}

/** The documents of a file, one after the other. */
function documentsOf(text: string): Workload[] {
  return [YAML.parse(text)].flat() as Workload[];
}

describe('on Kubernetes', () => {
  test('all that runs is without rights, on a read-only root, and asked whether it is ready', async () => {
    const texts = await Promise.all(['vault', 'redis'].map((name) => read(`deploy/kubernetes/${name}.yaml`)));
    const pods = texts.flatMap(documentsOf).flatMap(({ spec }) => spec.template?.spec ?? []);
    expect(pods.map(({ containers }) => containers.map(({ name }) => name))).toEqual([['vault'], ['redis']]);
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of pod.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.readinessProbe).toBeObject();
      }
    }
  });

  test('Redis has the settings that it has elsewhere', async () => {
    expect(await read('deploy/kubernetes/redis.conf')).toBe(await read('deploy/redis.conf'));
  });
});

describe('with compose', () => {
  test('all that runs is confined, and Redis reaches nobody', async () => {
    const { services, networks } = YAML.parse(await read('deploy/compose.yaml')) as {
      services: Record<string, { networks: string[] }>;
      networks: Record<string, object>;
    };
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
    expect(services['redis']?.networks).toEqual(['data']);
    expect(networks['data']).toEqual({ internal: true });
  });
});

test('the settings of Redis are those that production asks for', async () => {
  const lines = (await read('deploy/redis.conf')).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'appendonly yes',
      'appendfsync always',
      'maxmemory-policy noeviction',
      'save ""',
    ]),
  );
});
