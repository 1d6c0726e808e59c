import { type Branch, branchOf, type Leaf, rootBranch, writeForm } from './leaves.ts';

const FORM = /^[^\s&=<>{}]+=\S*\s*$/;
const INDEX = /^\d+$/;

function decode(source: string): string | undefined {
  try {
    return decodeURIComponent(source.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** Whether a text without a Content-Type looks like a form body. */
export function looksLikeForm(text: string): boolean {
  return FORM.test(text);
}

/** The values of a form body, in order, with their places; `card[number]` and `card.number` are nested names. */
export function formLeaves(text: string): Leaf[] {
  const root = rootBranch();
  const branches = new Map<string, Branch>();
  const leaves: Leaf[] = [];
  let start = 0;
  for (const pair of text.trimEnd().split('&')) {
    const equals = pair.indexOf('=');
    const name = equals < 0 ? undefined : decode(pair.slice(0, equals));
    const value = equals < 0 ? undefined : decode(pair.slice(equals + 1));
    if (name !== undefined && value !== undefined) {
      const steps = name.split(/[[\].]+/, 65).filter((step) => step !== '');
      const own = steps.pop() ?? '';
      let branch = root;
      let path = '';
      for (const step of steps) {
        path += `${step}.`;
        const named = INDEX.test(step) ? branch.name : step;
        branch = branches.get(path) ?? branchOf(named, branch);
        branches.set(path, branch);
      }
      leaves.push({
        name: own,
        branch,
        value,
        start: start + equals + 1,
        end: start + pair.length,
        write: writeForm,
      });
    }
    start += pair.length + 1;
  }
  return leaves;
}
