/** The preview of the builder: the form itself, or after a change a draft, which is deleted when the builder is left. */
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { FormSettings, Form as HostedForm } from '../../sdk/transport/types.ts';
import type { Session } from '../app/session.ts';

const PREFIX = 'console-draft-';
/** Keeps the form from saying that it has no endpoint. */
const AS_PREVIEW = '#preview=true';
/** Pause after a change before the preview follows. Each update is an entry of the security log. */
const PAUSE_MS = 600;

export type FormType = 'pcd' | 'ach' | 'custom';

/** True for a draft of the builder, of this page or of a closed one. */
export function isDraft(id: string): boolean {
  return id.startsWith(PREFIX);
}

/** True for a form that any page may embed, including the console. */
function isOpen({ id, frame_ancestors: origins }: Partial<HostedForm>): boolean {
  return id !== undefined && (origins ?? []).length === 0;
}

/** A draft that any page may embed. Its requests run one after another, so that it is created once and always deleted. */
function createDraft({ forms }: Session['client'], form_type: FormType) {
  const form_id = `${PREFIX}${crypto.randomUUID()}`;
  let isStored = false;
  let last: Promise<unknown> = Promise.resolve();
  const next = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
  return {
    /** Resolves with a new URL each time, so that the frame loads it again. */
    show: (settings: FormSettings): Promise<string> =>
      next(async () => {
        const form = { ...settings, frame_ancestors: null, form_id };
        const { url } = await (isStored ? forms.replace(form) : forms.create({ ...form, form_type }));
        isStored = true;
        return `${url}?title=&shown=${Date.now()}${AS_PREVIEW}`;
      }),
    remove: (): Promise<void> =>
      next(async () => {
        if (isStored) {
          isStored = false;
          await forms.delete({ form_id });
        }
      }),
  };
}

interface Preview {
  readonly url?: string | undefined;
  readonly error?: unknown;
}

/** The preview of a form with its changes. */
export function usePreview(
  { client }: Session,
  form: Partial<HostedForm>,
  type: FormType,
  changed: FormSettings | undefined,
): Preview {
  const [preview, setPreview] = useState<Preview>({});
  const draft = useMemo(() => createDraft(client, type), [client, type]);
  // Layout effects: others end after the next paint, which a page that is left does not have, and a pending update
  // could create the draft again before.
  useLayoutEffect(() => () => void draft.remove().catch(() => undefined), [draft]);
  const { id: _, url, form_type: __, ...stored } = form;
  const settings = changed ?? (isOpen(form) ? undefined : stored);
  useLayoutEffect(() => {
    const show = (shown: FormSettings): void =>
      void draft.show(shown).then(
        (url) => setPreview({ url }),
        (error: unknown) => setPreview({ error }),
      );
    const timer = settings && setTimeout(show, PAUSE_MS, settings);
    return () => clearTimeout(timer);
  }, [draft, JSON.stringify(settings)]);
  return settings === undefined ? { url: `${url}?title=${AS_PREVIEW}` } : preview;
}
