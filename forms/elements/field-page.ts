import { h } from '../base/dom.ts';
import { brandName, brandOf } from '../fields/brand.ts';
import { digitsOf } from '../fields/digits.ts';
import type { FieldPlan } from '../fields/field.ts';
import { createText } from '../fields/text-input.ts';
import type { Frame } from '../frame/frame.ts';
import type { FormMessage, ParentMessage } from '../frame/messages.ts';
import type { Texts } from '../messages/en.ts';
import { fillText } from '../messages/messages.ts';
import { admitted, ORIGIN_NOT_ALLOWED } from '../page/admission.ts';
import { successMessage } from '../page/form.ts';
import { createNetworkLookup } from '../page/networks.ts';
import { checkCapture, postCapture } from '../page/sealed.ts';
import { BROWSER, bodyOf, type CallFailure, type EndpointAddress } from '../page/submit.ts';
import { wipeWhenLeft } from '../page/wipe.ts';
import { codePlaceholder, type ElementKind, KINDS } from './fields.ts';
import { type Around, attemptsOf, collect, type Member, membersBeside } from './group.ts';
import type { ElementField, ElementVisit } from './visit.ts';

/** The page around, as far as a frame of another origin may see it. */
function around(): Around {
  return window.parent as unknown as Around;
}

interface FieldPage {
  readonly visit: ElementVisit;
  readonly own: Member;
  readonly frame: Frame;
}

function addressOf({ unique_id, secret }: ElementVisit): EndpointAddress {
  return { api: location.origin, unique_id, secret };
}

/** The failure that keeps the group from working in the page around, asked once for all its fields. */
async function refusalOf({ visit, own, frame }: FieldPage): Promise<CallFailure | undefined> {
  if (membersBeside(own, around()).some(({ isAdmitted }) => isAdmitted)) {
    return undefined;
  }
  const state = await admitted(await checkCapture(addressOf(visit), BROWSER), frame, location.origin);
  if ('failure' in state) {
    return state.failure;
  }
  own.isAdmitted = true;
  return undefined;
}

/** Clears the fields whose values were sent, except those that were changed meanwhile. */
function empty(members: readonly Member[], sent: readonly string[]): void {
  members.forEach((member, at) => {
    try {
      if (JSON.stringify(member.posted()) === sent[at]) {
        member.clear();
      }
    } catch {
      // The frame is gone with its value.
    }
  });
}

/** Sends the values of the group's fields, if these are exactly the expected ones; resolves with the outcome. */
async function sendAll({ visit, own, frame }: FieldPage, expected: readonly string[]): Promise<FormMessage> {
  const members = membersBeside(own, around());
  const collected = collect(members, expected);
  if ('code' in collected) {
    return { type: 'vault.error', status: 0, code: collected.code };
  }
  own.isSending = true;
  const refusal = await refusalOf({ visit, own, frame });
  if (refusal !== undefined) {
    own.isSending = false;
    return { type: 'vault.error', status: refusal.status, code: refusal.code };
  }
  const body = bodyOf({}, collected.posted);
  const sent = members.map((member) => JSON.stringify(member.posted()));
  const { reference, metadata } = visit;
  const form_type = members.some(({ field }) => field === 'iban') ? 'ach' : 'pcd';
  const attempts = attemptsOf(members);
  const query = { reference, metadata, form_type };
  const outcome = await postCapture(addressOf(visit), query, body, attempts, BROWSER);
  own.isSending = false;
  attempts.settle(outcome);
  if ('failure' in outcome) {
    const { status, code } = outcome.failure;
    return { type: 'vault.error', status, code };
  }
  empty(members, sent);
  return successMessage(outcome.reply);
}

/** The card number of the group; empty without one. */
function numberBeside(own: Member): string {
  return (
    membersBeside(own, around())
      .find(({ field }) => field === 'card-number')
      ?.read() ?? ''
  );
}

/** The state of a value. An incomplete value, or one that is still typed and not checked, is not invalid. */
function stateOf(value: string, wrong: string, isTyping: boolean): string {
  if (value === '') {
    return 'empty';
  }
  if (wrong === '') {
    return 'complete';
  }
  return wrong === 'number_short' || isTyping ? 'partial' : 'invalid';
}

/** Reports focus, blur and Enter to the page around, and checks the field on blur. */
function listen(input: HTMLInputElement, page: FieldPage): void {
  const { own, frame } = page;
  input.addEventListener('focus', () => {
    if (own.field === 'card-cvc') {
      input.placeholder = codePlaceholder(numberBeside(own));
    }
    frame.send({ type: 'vault.focus' });
    void refusalOf(page).then((refusal) => {
      if (refusal?.code === ORIGIN_NOT_ALLOWED) {
        own.clear();
        input.disabled = true;
        frame.send({ type: 'vault.error', status: 0, code: refusal.code });
      }
    });
  });
  input.addEventListener('blur', () => {
    frame.send({ type: 'vault.blur' });
    if (own.read() !== '') {
      own.check();
    }
  });
  input.addEventListener('keydown', ({ key, repeat, isComposing }) => {
    if (key === 'Enter' && !repeat && !isComposing) {
      frame.send({ type: 'vault.enter' });
    }
  });
}

function planOf(
  { name, attributes, hint, digits, edit, paste }: ElementKind,
  texts: Texts,
  label: string,
): FieldPlan {
  return {
    ...{ name, label, required: '', digits: digits ?? false },
    attributes: { ...attributes, ...(hint && { placeholder: hint(texts) }) },
    ...(edit && { edit }),
    ...(paste && { paste }),
  };
}

/** The list of the networks of a card beside its number; `changed` is called when others are offered. */
function createChoice(label: string, changed: () => void) {
  const element = h('select', { name: 'network', 'aria-label': label, hidden: true });
  let offered: readonly string[] = [];
  return {
    element,
    networks: () => offered,
    posted: (): Readonly<Record<string, string>> => (offered.length > 0 ? { network: element.value } : {}),
    offer: (networks: readonly string[]): void => {
      offered = networks;
      element.hidden = networks.length === 0;
      element.replaceChildren(...networks.map((value) => h('option', { value }, brandName(value))));
      changed();
    },
  };
}

/** Handles a message of the page around. */
function answer(message: ParentMessage, page: FieldPage, focus: () => void): void {
  switch (message.type) {
    case 'vault.send':
      void sendAll(page, message.fields.split(' ')).then(page.frame.send);
      break;
    case 'vault.reset':
      page.own.clear();
      break;
    case 'vault.focus':
      focus();
      break;
    case 'vault.validate':
      page.own.check();
      break;
    default:
  }
}

/** Puts the field into the page; returns its handler of messages. */
export function showField(
  visit: ElementVisit & { readonly field: ElementField },
  texts: Texts,
  frame: Frame,
): (message: ParentMessage) => void {
  const kind = KINDS[visit.field];
  const label = texts[kind.label];
  const problem = (): string =>
    part.value() === '' ? 'required' : (kind.problem(part.value(), numberBeside(own)) ?? '');
  const choice = createChoice(texts.network, () => report(false));
  const lookUp = visit.hasNetworks
    ? createNetworkLookup(addressOf(visit), BROWSER, choice.offer)
    : () => undefined;
  let reported = '';
  /** The text of an error. Required fields are named, since those of other frames may be announced at the same time. */
  const textOf = (wrong: string): string => {
    const name: keyof Texts = wrong === 'required' ? `need_${kind.name}` : (wrong as keyof Texts);
    return fillText(texts[name] ?? '', { n: codePlaceholder(numberBeside(own)).length });
  };
  const report = (isChecked: boolean): void => {
    const wrong = problem();
    const state = stateOf(part.value(), wrong, !isChecked && document.activeElement === input);
    const brand = visit.field === 'card-number' ? brandOf(digitsOf(part.value())) : '';
    const error = isChecked || state === 'invalid' ? wrong : '';
    // A report for each key would reveal the number of typed characters, and their times.
    const offered = visit.hasNetworks ? { networks: choice.networks().join(' ') } : {};
    const now = `${state} ${brand} ${error} ${offered.networks}`;
    if (isChecked || now !== reported) {
      reported = now;
      frame.send({ type: 'vault.change', state, brand, error, message: textOf(error), ...offered });
    }
  };
  const part = createText(planOf(kind, texts, label), () => {
    lookUp(digitsOf(part.value()));
    report(false);
  });
  const [input = h('input')] = part.inputs;
  const said = h('p', { id: 'error', role: 'alert' });
  const show = (wrong: string): void => {
    said.textContent = textOf(wrong);
    input.setAttribute('aria-invalid', String(wrong !== ''));
  };
  const own: Member = {
    ...{ group: visit.group, unique_id: visit.unique_id, secret: visit.secret, field: visit.field },
    read: part.value,
    posted: () => ({ ...kind.posted(part.value()), ...choice.posted() }),
    check: () => {
      const wrong = problem();
      show(wrong);
      report(true);
      return wrong === '';
    },
    clear: () => {
      part.clear();
      show('');
      own.attempt = undefined;
    },
    isAdmitted: false,
    isSending: false,
    attempt: undefined,
  };
  Object.defineProperty(window, 'vaultElement', { value: own });
  input.setAttribute('aria-label', label);
  input.setAttribute('aria-describedby', 'error');
  document.body.append(input, choice.element, said);
  input.addEventListener('input', () => show(''));
  const page: FieldPage = { visit, own, frame };
  listen(input, page);
  wipeWhenLeft(own.clear);
  return (message) => answer(message, page, part.focus);
}
