/** One field in a frame of its own. */
import { h } from '../base/dom.ts';
import { brandOf } from '../fields/brand.ts';
import { digitsOf } from '../fields/digits.ts';
import type { FieldPlan } from '../fields/field.ts';
import { createText } from '../fields/text-input.ts';
import type { Frame } from '../frame/frame.ts';
import type { ParentMessage } from '../frame/messages.ts';
import type { Texts } from '../messages/en.ts';
import { fillText } from '../messages/messages.ts';
import { successMessage } from '../page/form.ts';
import { bodyOf, call, callUrl, createAttemptKeys } from '../page/submit.ts';
import { wipeWhenLeft } from '../page/wipe.ts';
import { codePlaceholder, type ElementKind, KINDS } from './fields.ts';
import { type Around, collect, type Member, membersBeside } from './group.ts';
import type { ElementField } from './names.ts';
import type { ElementVisit } from './visit.ts';

/** The page around, as far as a frame of another origin may see it. */
function around(): Around {
  return window.parent as unknown as Around;
}

interface FieldPage {
  readonly visit: ElementVisit;
  readonly own: Member;
  readonly frame: Pick<Frame, 'send'>;
}

const attempts = createAttemptKeys();

/** Sends what all fields of the group hold, once, and empties them when it is stored. */
async function submit({ visit, own, frame }: FieldPage): Promise<void> {
  const members = membersBeside(own, around());
  const collected = collect(members);
  if ('code' in collected) {
    frame.send({ type: 'vault.error', status: 0, code: collected.code });
    return;
  }
  const setSending = (isSending: boolean): void => {
    for (const member of members) {
      member.isSending = isSending;
    }
  };
  setSending(true);
  const body = bodyOf({}, collected.posted);
  const { unique_id, secret, reference, metadata } = visit;
  const form_type = members.some(({ field }) => field === 'iban') ? 'ach' : 'pcd';
  const outcome = await call(
    callUrl(location.origin, 'capture', unique_id, { reference, metadata, form_type }),
    {
      method: 'POST',
      headers: { 'X-Vault-Capture-Secret': secret, 'Idempotency-Key': attempts.keyFor(body) },
      body,
    },
    {
      fetch: (url, init) => fetch(url, init),
      wait: (seconds) => new Promise((end) => setTimeout(end, 1000 * seconds)),
    },
  );
  attempts.settle(outcome);
  setSending(false);
  if ('failure' in outcome) {
    const { status, code } = outcome.failure;
    frame.send({ type: 'vault.error', status, code });
    return;
  }
  attempts.forget();
  for (const member of members) {
    member.clear();
  }
  frame.send(successMessage(outcome.reply));
}

/** The number that was typed into the field for it beside this one; empty without one. */
function numberBeside(own: Member): string {
  return (
    membersBeside(own, around())
      .find(({ field }) => field === 'card-number')
      ?.read() ?? ''
  );
}

/** How far a value is: what is incomplete is not called invalid, nor is what somebody is still typing. */
function stateOf(value: string, wrong: string, isTyping: boolean): string {
  if (value === '') {
    return 'empty';
  }
  if (wrong === '') {
    return 'complete';
  }
  return wrong === 'number_short' || isTyping ? 'partial' : 'invalid';
}

/** Tells the page around when the focus comes and goes, and checks the field then; Enter sends the group. */
function listen(input: HTMLInputElement, { own, frame }: FieldPage, send: () => void): void {
  input.addEventListener('focus', () => {
    if (own.field === 'card-cvc') {
      input.placeholder = codePlaceholder(numberBeside(own));
    }
    frame.send({ type: 'vault.focus' });
  });
  input.addEventListener('blur', () => {
    frame.send({ type: 'vault.blur' });
    if (own.read() !== '') {
      own.check();
    }
  });
  input.addEventListener('keydown', ({ key }) => {
    if (key === 'Enter') {
      send();
    }
  });
}

/** The plan of the input that a kind of field has. */
function planOf({ name, attributes, digits, edit, paste }: ElementKind, label: string): FieldPlan {
  return {
    ...{ name, label, required: '', digits: digits ?? false },
    ...(attributes && { attributes }),
    ...(edit && { edit }),
    ...(paste && { paste }),
  };
}

/** Puts the field into the page; returns what the page around may ask of it. */
export function showField(
  visit: ElementVisit & { readonly field: ElementField },
  texts: Texts,
  frame: Pick<Frame, 'send'>,
): (type: ParentMessage['type']) => void {
  const kind = KINDS[visit.field];
  const label = texts[kind.label];
  const problem = (): string =>
    part.value() === '' ? 'required' : (kind.problem(part.value(), numberBeside(own)) ?? '');
  const report = (): void => {
    const wrong = problem();
    const state = stateOf(part.value(), wrong, document.activeElement === input);
    const brand = visit.field === 'card-number' ? brandOf(digitsOf(part.value())) : '';
    frame.send({ type: 'vault.change', state, brand, error: state === 'invalid' ? wrong : '' });
  };
  const part = createText(planOf(kind, label), () => report());
  const [input = h('input')] = part.inputs;
  const said = h('p', { id: 'error', role: 'alert' });
  const show = (wrong: string): void => {
    const text = texts[wrong as keyof Texts] ?? '';
    said.textContent = fillText(text, { n: codePlaceholder(numberBeside(own)).length });
    input.setAttribute('aria-invalid', String(wrong !== ''));
  };
  const own: Member = {
    ...{ group: visit.group, unique_id: visit.unique_id, secret: visit.secret, field: visit.field },
    read: part.value,
    posted: () => kind.posted(part.value()),
    check: () => {
      const wrong = problem();
      show(wrong);
      report();
      return wrong === '';
    },
    clear: () => {
      part.clear();
      show('');
    },
    isSending: false,
  };
  Object.defineProperty(window, 'vaultElement', { value: own });
  input.setAttribute('aria-label', label);
  input.setAttribute('aria-describedby', 'error');
  document.body.append(input, said);
  input.addEventListener('input', () => show(''));
  const page: FieldPage = { visit, own, frame };
  const send = (): void => void submit(page);
  listen(input, page, send);
  wipeWhenLeft(own.clear);
  const acts: Partial<Record<ParentMessage['type'], () => unknown>> = {
    'vault.submit': send,
    'vault.reset': own.clear,
    'vault.focus': part.focus,
    'vault.validate': own.check,
  };
  return (type) => acts[type]?.();
}
