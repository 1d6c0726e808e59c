import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { YAML } from 'bun';
import {
  byName,
  chartValues,
  type Document,
  documentsOf,
  readChartFile,
  renderChart,
  type Value,
  valueFaults,
} from './chart.ts';

const MANIFESTS = join(import.meta.dir, '../../deploy/kubernetes');
function read(name: string): string {
  return readFileSync(join(MANIFESTS, name), 'utf8');
}

interface Kustomization {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newName?: string; readonly newTag: string }[];
}

/** What `kubectl apply -k` makes of the manifests, without the labels, the namespace and the hash of the configuration. */
function kustomized(): readonly Document[] {
  const { resources, images } = YAML.parse(read('kustomization.yaml')) as Kustomization;
  const replaced = resources.map((name) =>
    images.reduce(
      (text, { name: image, newName = image, newTag }) =>
        text.replaceAll(new RegExp(`image: ${image}$`, 'gm'), `image: ${newName}:${newTag}`),
      read(name),
    ),
  );
  const conf = { 'redis.conf': read('redis.conf').trimEnd() };
  return [
    ...replaced.flatMap(documentsOf),
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'redis-conf' }, data: conf },
  ];
}

/** The values of the chart, some of them changed. */
function changed(change: Readonly<Record<string, Record<string, Value>>>) {
  const values: Record<string, Value> = { ...chartValues() };
  for (const [name, members] of Object.entries(change)) {
    values[name] = { ...Object(values[name]), ...members };
  }
  return values;
}

test('the chart with its own values is what the manifests are', () => {
  const made = byName(renderChart(chartValues()));
  const redis = JSON.stringify(made['StatefulSet redis']);
  expect(redis).toMatch(/"annotations":\{"checksum\/redis\.conf":"[0-9a-f]{64}"\},?/);
  const same: typeof made = {
    ...made,
    'StatefulSet redis': JSON.parse(redis.replace(/,?"annotations":\{[^}]*\}/, '')),
  };
  expect(same).toEqual(byName(kustomized()));
});

describe('a changed value', () => {
  test('a Redis of your own leaves no other', () => {
    const documents = byName(renderChart(changed({ redis: { enabled: false } })));
    expect(Object.keys(documents).filter((name) => name.includes('redis'))).toEqual([]);
    const { externalRedis } = Object(chartValues()['network']);
    expect(Object(documents['NetworkPolicy backup']).spec.egress).toEqual([
      ...externalRedis,
      expect.objectContaining({ ports: expect.arrayContaining([{ port: 53, protocol: 'UDP' }]) }),
    ]);
  });

  test('without backups there is nothing of them', () => {
    const documents = byName(renderChart(changed({ backup: { enabled: false } })));
    expect(Object.keys(documents).filter((name) => name.includes('backup'))).toEqual([]);
    expect(Object.keys(documents)).toContain('NetworkPolicy redis');
  });

  test('settings, files and storage classes arrive', () => {
    const settings = { VAULT_SAD_RETENTION: 'PT1H', VAULT_RATE_SOURCE: 600 };
    const documents = byName(
      renderChart(changed({ settings, secrets: { files: 'ca' }, redis: { storageClass: 'fast' } })),
    );
    const { containers, volumes } = Object(documents['Deployment vault']).spec.template.spec;
    expect(containers[0].env.slice(-2)).toEqual([
      { name: 'VAULT_RATE_SOURCE', value: '600' },
      { name: 'VAULT_SAD_RETENTION', value: 'PT1H' },
    ]);
    expect(containers[0].volumeMounts).toContainEqual({ name: 'files', mountPath: '/files', readOnly: true });
    // The parser here takes the number for a decimal one, that of Kubernetes for an octal one.
    expect(volumes).toContainEqual({ name: 'files', secret: { secretName: 'ca', defaultMode: 400 } });
    const [claim] = Object(documents['StatefulSet redis']).spec.volumeClaimTemplates;
    expect(claim.spec.storageClassName).toBe('fast');
  });
});

describe('with the operator of Prometheus', () => {
  const monitoring = { serviceMonitor: true, rules: true, labels: { release: 'prometheus' } };
  const { length } = renderChart(chartValues());
  const documents = renderChart(changed({ monitoring }));
  const own = byName(documents);

  test('its documents have the labels that it selects by', () => {
    expect(documents).toHaveLength(length + 2);
    for (const name of ['ServiceMonitor vault', 'PrometheusRule vault']) {
      expect([name, Object(own[name]).metadata.labels]).toEqual([name, monitoring.labels]);
    }
  });

  test('the listener with the metrics is scraped, as the job of the rules', () => {
    const { selector, endpoints } = Object(own['ServiceMonitor vault']).spec;
    const { metadata, spec } = Object(own['Service vault-admin']);
    expect(metadata.labels).toMatchObject(selector.matchLabels);
    expect(spec.ports[0].name).toBe(endpoints[0].port);
    expect(endpoints[0].relabelings).toEqual([{ targetLabel: 'job', replacement: 'cardvault' }]);
    expect(readFileSync(join(MANIFESTS, '../prometheus-rules.yml'), 'utf8')).toContain('up{job="cardvault"}');
  });

  test('the rules for alerts are those of deploy/', () => {
    const rules = readFileSync(join(MANIFESTS, '../prometheus-rules.yml'), 'utf8');
    expect(Object(own['PrometheusRule vault']).spec).toEqual(YAML.parse(rules));
  });
});

test('an Ingress has the listener of browsers alone, over TLS', () => {
  const ingress = { enabled: true, className: 'nginx', host: 'cards.example', annotations: { a: 'b' } };
  const documents = byName(renderChart(changed({ ingress })));
  const { metadata, spec } = Object(documents['Ingress vault']);
  expect([metadata.annotations, spec.ingressClassName]).toEqual([{ a: 'b' }, 'nginx']);
  expect(spec.tls).toEqual([{ hosts: ['cards.example'], secretName: 'vault-tls' }]);
  const [{ host, http }, ...others] = spec.rules;
  expect([host, others, http.paths.length]).toEqual(['cards.example', [], 1]);
  const { service } = http.paths[0].backend;
  const { ports } = Object(documents[`Service ${service.name}`]).spec;
  const [container] = Object(documents['Deployment vault']).spec.template.spec.containers;
  const [first] = container.ports;
  expect([service.port.name, ports[0].name, ports[0].targetPort]).toEqual(['http', 'http', first.name]);
  expect(Object(chartValues()['ingress']).host).toBe(new URL(String(chartValues()['publicUrl'])).host);
});

test('the schema knows every value, and no other', () => {
  expect(valueFaults(chartValues())).toEqual([]);
  expect(valueFaults({ replcas: 3, redis: { enable: true }, settings: { VAULT_PROCESSES: 2 } })).toEqual([
    'values.replcas is not known',
    'values.redis.enable is not known',
  ]);
});

test('the chart is of this version', async () => {
  const { version } = await Bun.file(join(import.meta.dir, '../../package.json')).json();
  expect(YAML.parse(readChartFile('Chart.yaml'))).toMatchObject({ version, appVersion: version });
  expect(chartValues()['image']).toBe(`registry.example.com/cardvault:${version}`);
});
