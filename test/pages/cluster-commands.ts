/** Commands for a Kubernetes that no test has: they name what the manifests of deploy/kubernetes make, and the chart. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob, YAML } from 'bun';

const FOLDER = join(import.meta.dir, '..', '..', 'deploy/kubernetes');

interface Manifest {
  readonly kind?: string;
  readonly namespace?: string;
  readonly metadata?: { readonly name: string };
  readonly spec?: {
    readonly template?: { readonly metadata?: { readonly labels?: { readonly app?: string } } };
  };
}

const MANIFESTS = [...new Glob('*.yaml').scanSync({ cwd: FOLDER })].flatMap(
  (name) => [YAML.parse(readFileSync(join(FOLDER, name), 'utf8'))].flat() as Manifest[],
);
const NAMES = new Set(MANIFESTS.map(({ kind, metadata }) => `${kind?.toLowerCase()}/${metadata?.name}`));
const LABELS = new Set(MANIFESTS.map(({ spec }) => spec?.template?.metadata?.labels?.app));
const NAMESPACE = MANIFESTS.find(({ kind }) => kind === 'Kustomization')?.namespace;
const VERBS: ReadonlySet<string> = new Set([
  'create',
  'wait',
  'scale',
  'rollout',
  'cp',
  'get',
  'exec',
  'logs',
]);

/** What is wrong with the words of a command of kubectl, whose own jobs are those that a line before it creates. */
export function kubectlFaults(line: string, created: Set<string>): readonly string[] {
  const faults: string[] = [];
  for (const [, namespace, verb = ''] of line.matchAll(/\bkubectl(?: -n (\S+))? (\S+)/g)) {
    if (namespace !== NAMESPACE) {
      faults.push(`${line}: the manifests are in ${NAMESPACE}`);
    }
    if (!VERBS.has(verb)) {
      faults.push(`${line}: what ${verb} does is not known here`);
    }
  }
  const [, job] = / create job (\S+) /.exec(line) ?? [];
  if (job !== undefined) {
    created.add(`job/${job}`);
  }
  const named = [...line.matchAll(/\b(?:cronjob|deployment|statefulset|job)\/[a-z-]+/g)].map(
    ([name]) => name,
  );
  const labels = [...line.matchAll(/ app=([a-z-]+)/g)].map(([, label]) => label);
  return [
    ...faults,
    ...named.filter((name) => !NAMES.has(name) && !created.has(name)).map((name) => `${line}: no ${name}`),
    ...labels.filter((label) => !LABELS.has(label)).map((label) => `${line}: no pod has the label ${label}`),
  ];
}

const HELM = /^helm upgrade --install \S+ (\S+) --namespace (\S+) --values values\.yaml$/;

/** What is wrong with the words of a command of helm: it installs the chart there is, where the secrets are. */
export function helmFaults(line: string): readonly string[] {
  const [, chart = '', namespace] = HELM.exec(line) ?? [];
  return [
    ...(existsSync(join(FOLDER, '../..', chart, 'Chart.yaml')) ? [] : [`${line}: no chart is there`]),
    ...(namespace === NAMESPACE ? [] : [`${line}: the secrets are in ${NAMESPACE}`]),
  ];
}
