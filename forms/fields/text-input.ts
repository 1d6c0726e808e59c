/** A text field: every change passes its edit function, which also keeps the position of the caret. */
import { h } from '../base/dom.ts';
import { errorId, type FieldPlan, isRequired, labelOf, type Part } from './field.ts';

/** A longer label may need more than one line, and is then shown above the input. */
const LABEL_CHARACTERS_LINE = 30;

function inputOf(plan: FieldPlan): HTMLInputElement {
  return h('input', {
    class: 'vf-input',
    id: `vf-${plan.name}`,
    name: plan.name,
    type: 'text',
    autocomplete: 'off',
    spellcheck: 'false',
    autocorrect: 'off',
    autocapitalize: 'off',
    enterkeyhint: 'go',
    placeholder: ' ',
    'aria-required': isRequired(plan) ? 'true' : 'false',
    'aria-invalid': 'false',
    'aria-describedby': errorId(plan),
    dir: plan.digits === true ? 'ltr' : 'auto',
    ...plan.attributes,
  });
}

/** Creates the input; `changed` is called after every change of its value. */
export function createText(plan: FieldPlan, changed: () => void): Part {
  const input = inputOf(plan);
  let before = '';
  const fill = input.autocomplete;
  /** Browsers store the values of inputs on disk to restore them, unless autocompletion is off. */
  const keepOffDisk = (): void => input.setAttribute('autocomplete', input.value === '' ? fill : 'off');
  const settle = (kind: string): void => {
    if (plan.edit !== undefined) {
      const caret = input.selectionStart ?? input.value.length;
      const edited = plan.edit({ before, value: input.value, caret, kind });
      if (edited.value !== input.value) {
        input.value = edited.value;
        input.setSelectionRange(edited.caret, edited.caret);
      }
    }
    before = input.value;
    keepOffDisk();
    changed();
  };
  const put = (text: string, kind: string): void => {
    input.value = text;
    settle(kind);
    // A custom event, so that it is not handled as typing.
    input.dispatchEvent(new CustomEvent('input', { bubbles: true }));
  };
  input.addEventListener('input', (event) => {
    const composing = event instanceof InputEvent && event.isComposing;
    if (!composing && !(event instanceof CustomEvent)) {
      settle(event instanceof InputEvent ? event.inputType : '');
    }
  });
  // Programs that fill fields may tell of it by one of these events alone.
  for (const type of ['change', 'blur']) {
    input.addEventListener(type, () => {
      if (input.value !== before) {
        settle('');
      }
    });
  }
  input.addEventListener('compositionend', () => settle('insertText'));
  input.addEventListener('paste', (event) => {
    const whole = plan.paste?.(event.clipboardData?.getData('text') ?? '');
    if (whole !== undefined && !input.readOnly) {
      event.preventDefault();
      put(whole, 'insertFromPaste');
    }
  });
  const wordy = plan.label.length > LABEL_CHARACTERS_LINE ? ' vf-wordy' : '';
  const label = h('label', { class: `vf-label${wordy}`, for: input.id }, ...labelOf(plan));
  return {
    children: [h('div', { class: 'vf-box' }, input, label, plan.adornment)],
    inputs: [input],
    value: () => input.value.trim(),
    put,
    clear: () => {
      input.value = '';
      before = '';
      keepOffDisk();
      changed();
    },
    focus: () => input.focus(),
  };
}
