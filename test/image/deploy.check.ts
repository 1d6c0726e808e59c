import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Glob, YAML } from 'bun';
import { SERVER_SETTING_NAMES } from '../../server/config/settings.ts';
import { serviceOf } from '../helpers/unit.ts';

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
  const scripts = [
    'artifact.ts',
    'build-console.ts',
    'build-forms.ts',
    'build-guide.ts',
    'guide',
    'image-files.sh',
    'pack.ts',
    'reference',
    'sbom.ts',
    'site',
  ];
  const needed = [...copied, 'console', 'docs', 'sdk', ...scripts.map((name) => `scripts/${name}`)];
  const seen = (await read('.dockerignore')).split('\n').flatMap((line) => /^!(.*)$/.exec(line)?.[1] ?? []);
  expect(seen.sort()).toEqual(needed.sort());
});

interface Container {
  readonly name: string;
  readonly image: string;
  readonly securityContext: object;
  readonly readinessProbe?: object;
  readonly volumeMounts: readonly { readonly mountPath: string; readonly readOnly?: boolean }[];
}
interface Pod {
  readonly securityContext: object;
  readonly containers: readonly Container[];
}
interface Template {
  readonly metadata: { readonly labels: { readonly app: string } };
  readonly spec: Pod;
}
interface Peer {
  readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
  readonly namespaceSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
}
interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template?: Template;
    readonly jobTemplate?: { readonly spec: { readonly template: Template } };
    readonly podSelector?: { readonly matchLabels: { readonly app: string } };
    readonly ingress?: readonly { readonly from: readonly Peer[] }[];
    readonly egress?: readonly { readonly to: readonly Peer[] }[];
  };
}

/** The documents of all manifests that the kustomization names. */
async function manifests(): Promise<readonly Manifest[]> {
  const { resources } = YAML.parse(await read('deploy/kubernetes/kustomization.yaml')) as {
    resources: string[];
  };
  const texts = await Promise.all(resources.map((name) => read(`deploy/kubernetes/${name}`)));
  return texts.flatMap((text) => [YAML.parse(text)].flat() as Manifest[]);
}

function templatesOf(found: readonly Manifest[]): readonly Template[] {
  return found.flatMap(({ spec }) => spec.template ?? spec.jobTemplate?.spec.template ?? []);
}

describe('on Kubernetes', () => {
  test('all that runs is without rights, on a read-only root, and asked whether it is ready', async () => {
    const templates = templatesOf(await manifests());
    expect(templates.map(({ metadata }) => metadata.labels.app)).toEqual([
      'vault',
      'redis',
      'backup',
      'backup-files',
    ]);
    for (const { metadata, spec } of templates) {
      expect(spec).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of spec.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        // A backup serves nobody.
        expect(container.readinessProbe !== undefined).toBe(metadata.labels.app !== 'backup');
      }
    }
  });

  test('every image is one that the kustomization replaces', async () => {
    const { images } = YAML.parse(await read('deploy/kubernetes/kustomization.yaml')) as {
      images: { name: string }[];
    };
    const used = templatesOf(await manifests()).flatMap(({ spec }) =>
      spec.containers.map(({ image }) => image),
    );
    expect(new Set(used)).toEqual(new Set(images.map(({ name }) => name)));
  });

  test('only the vault and its backup reach Redis, and only the ingress and Prometheus the vault', async () => {
    const found = await manifests();
    const policies = new Map(
      found
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .map(({ spec }) => [spec.podSelector?.matchLabels.app, spec] as const),
    );
    const isEveryPodCovered = templatesOf(found).every(({ metadata }) => policies.has(metadata.labels.app));
    expect(isEveryPodCovered).toBe(true);
    const peersOf = (app: string, way: 'from' | 'to'): readonly string[] =>
      [...(policies.get(app)?.ingress ?? []), ...(policies.get(app)?.egress ?? [])]
        .flatMap(
          (rule) => Object.entries(rule).flatMap(([key, peers]) => (key === way ? peers : [])) as Peer[],
        )
        .map(({ podSelector, namespaceSelector }) =>
          [namespaceSelector, podSelector].flatMap((one) => Object.values(one?.matchLabels ?? {})).join(' '),
        );
    expect(peersOf('redis', 'from')).toEqual(['vault', 'backup']);
    expect(peersOf('vault', 'from')).toEqual(['ingress', 'applications', 'monitoring prometheus']);
    expect(peersOf('backup', 'to')).toEqual(['redis', 'kube-system']);
    for (const app of ['redis', 'backup-files']) {
      expect([app, peersOf(app, 'to')]).toEqual([app, []]);
    }
    for (const app of ['backup', 'backup-files']) {
      expect([app, peersOf(app, 'from')]).toEqual([app, []]);
    }
  });

  test('Redis has the settings that it has elsewhere', async () => {
    for (const path of ['deploy/kubernetes/redis.conf', 'deploy/helm/redis.conf']) {
      expect(await read(path)).toBe(await read('deploy/redis.conf'));
    }
  });
});

test('who is trusted to name the source of a request is one address, whatever is deployed', async () => {
  const found: string[] = [];
  for (const path of files) {
    const matches = (await read(path)).matchAll(
      /(?:VAULT_TRUSTED_PROXIES(?:=|, value: )|trustedProxies: )([^\s{}]+)/g,
    );
    found.push(...[...matches].flatMap(([, value = '']) => value.split(',')));
  }
  expect(found.length).toBe(3);
  expect(found.filter((range) => range.includes('/') && !range.endsWith('/32'))).toEqual([]);
});

describe('under systemd', () => {
  test('a reload replaces the processes, and nothing that is installed needs bun', async () => {
    const unit = await read('deploy/cardvault.service');
    expect(unit).toMatch(/^ExecReload=\/bin\/kill -HUP \$MAINPID$/m);
    const commands = unit.split('\n').filter((line) => line.startsWith('#     '));
    expect(commands.length).toBeGreaterThan(5);
    expect(commands.filter((line) => /command -v bun/.test(line))).toEqual([]);
  });

  test('certificate and key are credentials, which the user of the unit can read', async () => {
    const texts = ['deploy/cardvault.service', 'deploy/examples/tls.conf'].map(read);
    const { environment, credentials } = serviceOf(
      await Promise.all(texts),
      '/run/credentials/cardvault.service',
    );
    for (const [setting, name] of [
      ['VAULT_MASTER_KEY_FILE', 'master-key'],
      ['VAULT_TLS_CERT_FILE', 'tls.pem'],
      ['VAULT_TLS_KEY_FILE', 'tls.key'],
    ] as const) {
      expect(environment[setting]).toBe(`/run/credentials/cardvault.service/${name}`);
      expect(credentials.get(name)).toBe(`/etc/cardvault/${name}`);
    }
  });
});

describe('with compose', () => {
  test('all that runs is confined, and Redis reaches nobody', async () => {
    const { services, networks } = YAML.parse(await read('deploy/compose.yaml')) as {
      services: Record<string, { networks: string[] }>;
      networks: Record<string, Readonly<Record<string, unknown>>>;
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
    // The one address that vault.env.example trusts is that of this machine in the network of the vault.
    const { config } = Object(networks['front']).ipam as { config: { gateway: string }[] };
    expect(await read('deploy/vault.env.example')).toContain(`VAULT_TRUSTED_PROXIES=${config[0]?.gateway}\n`);
  });
});
