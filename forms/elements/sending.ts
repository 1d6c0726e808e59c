/** The sending of a group: whole, once or not at all, with an outcome in every case. */
import { READY_MS } from '../frame/events.ts';
import type { FrameHandle } from '../frame/handle.ts';
import type { ElementField } from './visit.ts';

/** The reply to a capture. */
export interface ElementsReply {
  readonly token: string;
  readonly reference: string;
  readonly user: string;
}

/** The error of a capture; status 0 if the service was not called, or did not reply. */
export interface ElementsFailure {
  readonly status: number;
  readonly code: string;
}

const STEP_MS = 200;
/** More than a frame needs for all its attempts: a frame without a report by then has crashed. */
const REPLY_MS = 180_000;

/** A group that is being sent. */
interface Current {
  /** The fields that it had when it was asked to send. */
  readonly asked: readonly FrameHandle[];
  /** The frame that sends for all. */
  readonly sender: FrameHandle;
  readonly since: number;
  readonly timer: ReturnType<typeof setInterval>;
  readonly resolve: (reply: ElementsReply) => void;
  readonly reject: (failure: ElementsFailure) => void;
  isSent: boolean;
}

/** The sending of a group. */
export interface Sending {
  /** Sends through this frame, or the first; rejects with an `ElementsFailure`. */
  submit(frame?: FrameHandle): Promise<ElementsReply>;
  /** Receives the outcome of a frame's request. */
  hear(frame: FrameHandle, said: ElementsReply | ElementsFailure): void;
  /** Called when a frame is ready, so that its earlier request has ended. */
  restart(frame: FrameHandle): void;
  /** Checks the frames now. */
  step(): void;
  /** Aborts the sending. */
  stop(code: string): void;
}

function failure(code: string): ElementsFailure {
  return { status: 0, code };
}

/** Sends a group of frames; `report` is called for each failure that no frame reports. */
export function createSending(
  fields: ReadonlyMap<FrameHandle, ElementField>,
  report: (field: ElementField, failure: ElementsFailure) => void,
): Sending {
  let current: Current | undefined;
  const end = (): Current | undefined => {
    const ended = current;
    clearInterval(ended?.timer);
    current = undefined;
    return ended;
  };
  const fail = (code: string, field?: ElementField): void => {
    end()?.reject(failure(code));
    if (field !== undefined) {
      report(field, failure(code));
    }
  };
  /** Sends once all fields are ready: those at the time of the request and those added since, never fewer. */
  const start = (now: Current, isLate: boolean): void => {
    const all = [...fields];
    const missing = all.find(([frame]) => frame.state() === 'gone' || (isLate && frame.state() !== 'ready'));
    if (now.asked.some((frame) => !fields.has(frame))) {
      fail('elements_incomplete', all[0]?.[1]);
    } else if (missing !== undefined) {
      fail('elements_unavailable', missing[1]);
    } else if (all.every(([frame]) => frame.state() === 'ready')) {
      now.isSent = true;
      now.sender.ask({ type: 'vault.send', fields: [...fields.values()].join(' ') });
    }
  };
  const step = (): void => {
    if (current === undefined) {
      return;
    }
    const { sender, since, isSent } = current;
    const waited = performance.now() - since;
    if (!isSent) {
      start(current, waited > READY_MS);
    } else if (sender.state() !== 'ready' || waited > REPLY_MS) {
      fail('outcome_unknown', fields.get(sender));
    }
  };
  return {
    submit: (frame) => {
      const asked = [...fields.keys()];
      const sender = frame ?? asked[0];
      if (current !== undefined || sender === undefined) {
        return Promise.reject(failure(current === undefined ? 'elements_missing' : 'elements_sending'));
      }
      return new Promise((resolve, reject) => {
        const timer = setInterval(step, STEP_MS);
        current = { asked, sender, since: performance.now(), timer, resolve, reject, isSent: false };
        step();
      });
    },
    hear: (frame, said) => {
      if (current !== undefined && (frame === current.sender || !current.isSent)) {
        const ended = end();
        'token' in said ? ended?.resolve(said) : ended?.reject(said);
      }
    },
    restart: (frame) => {
      if (current?.isSent && frame === current.sender) {
        fail('outcome_unknown', fields.get(frame));
      }
    },
    step,
    stop: (code) => fail(code),
  };
}
