import type { ComponentChildren } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { encode } from 'uqr';
import { notify } from '../app/notice.ts';
import { T } from '../app/text.ts';
import { DialogAround, type Entered, Form, type FormProps, focusFirst, useHold } from './form.tsx';
import { Copy } from './parts.tsx';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * A dialog that is open as long as it is rendered. The browser keeps the focus inside, and gives it back at the end.
 * Content can hold it open: then neither Escape nor its button closes it.
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [holds, setHolds] = useState(0);
  const isHeld = holds > 0;
  const close = (): void => element.current?.close();
  // Before the next paint, so that a key that follows the click goes into the first field.
  useLayoutEffect(() => {
    element.current?.showModal();
    focusFirst(element.current);
  }, []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      // Without this attribute browsers let a second Escape close the dialog.
      closedBy={isHeld ? 'none' : 'closerequest'}
      onCancel={(event) => isHeld && event.preventDefault()}
      onClose={onClose}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="small" aria-disabled={isHeld} onClick={() => isHeld || close()}>
          {T.close}
        </button>
      </header>
      <DialogAround.Provider value={{ hold: setHolds, close }}>{children}</DialogAround.Provider>
    </dialog>
  );
}

/** A button that opens a dialog. */
export function Opener({ label, title = label, kind, children }: OpenerProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={kind} onClick={() => setOpen(true)}>
        {label}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          {children}
        </Dialog>
      )}
    </>
  );
}

interface OpenerProps {
  readonly label: string;
  readonly title?: string;
  readonly kind?: 'primary' | 'danger' | 'small' | undefined;
  readonly children: ComponentChildren;
}

/** A secret, shown once and gone with the dialog, which stays open until the reader confirms that the secret is kept. */
export function Once({ label, text, children }: OnceProps) {
  const element = useRef<HTMLDivElement>(null);
  const { close } = useContext(DialogAround);
  useHold(true);
  // The form that had the focus is gone.
  useEffect(() => element.current?.focus(), []);
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a group of form fields is what the element would be. */}
      <div class="once" ref={element} tabIndex={-1} role="group" aria-label={label}>
        <p>
          <strong>{label}</strong> {T.shownOnce}
        </p>
        <p class="line">
          <code>{text}</code> <Copy text={text} />
        </p>
      </div>
      {children}
      <button type="button" class="primary" onClick={close}>
        {T.kept}
      </button>
    </>
  );
}

interface OnceProps {
  readonly label: string;
  readonly text: string;
  readonly children?: ComponentChildren;
}

interface DialogFormProps extends Omit<FormProps, 'onSend'> {
  /** Shown above the form. */
  readonly about?: ComponentChildren;
  /** A text that it resolves with is a secret, which is shown once; without one the dialog closes. */
  readonly onSend: (entered: Entered) => Promise<unknown>;
  /** Name of the secret. */
  readonly secret?: string;
  /** What is shown with the secret. */
  readonly more?: (secret: string) => ComponentChildren;
  /** Called after `onSend`. */
  readonly after?: (() => void) | undefined;
  /** Notice after `onSend`. */
  readonly done?: string;
}

/** The form of a dialog. */
export function DialogForm({ about, onSend, secret = '', more, after, done, ...form }: DialogFormProps) {
  const [made, setMade] = useState<string>();
  const { close } = useContext(DialogAround);
  if (made !== undefined) {
    return (
      <Once label={secret} text={made}>
        {more?.(made)}
      </Once>
    );
  }
  const send = async (entered: Entered): Promise<void> => {
    const result = await onSend(entered);
    after?.();
    if (typeof result === 'string') {
      setMade(result);
    } else {
      close();
    }
    if (done !== undefined) {
      notify(done);
    }
  };
  return (
    <>
      {about}
      <Form {...form} onSend={send} />
    </>
  );
}

/** A button that opens a dialog with a form. */
export function FormDialog({ label, title = label, send = label, kind, ...form }: FormDialogProps) {
  return (
    <Opener label={label} title={title} kind={kind}>
      <DialogForm {...form} send={send} kind={kind === 'danger' ? kind : 'primary'} />
    </Opener>
  );
}

type FormDialogProps = Omit<OpenerProps, 'children'> &
  Omit<DialogFormProps, 'send' | 'kind'> & { readonly send?: string };

/** A button that performs an action, by default a deletion, after a confirmation. */
export function Confirm({
  name = '',
  label = T.remove,
  question,
  done = T.removed(name),
  kind = 'danger',
  onConfirm,
  after,
}: {
  /** The object of the action, where the screen does not name it. */
  readonly name?: string;
  readonly label?: string;
  readonly question: string;
  readonly done?: string;
  /** `danger` for what cannot be undone. */
  readonly kind?: 'primary' | 'danger';
  readonly onConfirm: () => Promise<unknown>;
  readonly after?: () => void;
}) {
  const about = <p>{name === '' ? question : `${name}: ${question}`}</p>;
  return <FormDialog {...{ label, kind, about, done, after }} fields={[]} onSend={onConfirm} />;
}

/** A link as a QR code. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { data, size } = encode(text, { border: 2 });
  const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')));
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={label}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join('')} fill="#000" />
    </svg>
  );
}
