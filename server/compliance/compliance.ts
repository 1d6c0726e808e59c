import type { RandomId } from '../core/clock.ts';
import { coalesce } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import type { Crypto } from '../crypto/client.ts';
import type { AccountContext } from '../request/context.ts';
import type { ComplianceStore } from './store.ts';

const PLACE = { purpose: 'record', account: '', kind: 'compliance', path: ['pci-dss'] } as const;

/** The largest document that an operator can load, in bytes. */
export const PDF_BYTES_MAX = 10_485_760;
/** PDF 1.x and 2.x (ISO 32000). */
const PDF_HEAD = /^%PDF-[12]\.\d/;
/** The end mark is within these bytes. */
const PDF_TAIL_BYTES = 1_024;
const decoder = new TextDecoder('latin1');

/** The operator's certificate of compliance, for accounts that pay. */
export class Compliance {
  private known: { readonly version: string; readonly pdf: Uint8Array } | undefined;
  /** Shared by concurrent requests, so that one copy of the document is in memory. */
  private readonly readFresh = coalesce(() => this.readNewest());

  constructor(
    private readonly store: ComplianceStore,
    private readonly crypto: Crypto,
    private readonly randomId: RandomId,
  ) {}

  /** Returns the document as a PDF. Rejects with `not_allowed` for an account that does not pay, and `certificate_not_found`. */
  async read({ account }: AccountContext): Promise<Uint8Array> {
    if (!account.paying) {
      throw new VaultError('not_allowed');
    }
    const pdf = await this.readFresh();
    if (!pdf) {
      throw new VaultError('certificate_not_found');
    }
    return pdf;
  }

  /** Replaces the document; false, with nothing changed, unless it is a PDF of at most 10 MB. */
  async load(pdf: Uint8Array): Promise<boolean> {
    if (pdf.length > PDF_BYTES_MAX || !isPdf(pdf)) {
      return false;
    }
    const record = await this.crypto.sealRecord({ place: PLACE, plaintext: pdf });
    await this.store.save(this.randomId(), record);
    return true;
  }

  private async readNewest(): Promise<Uint8Array | undefined> {
    const version = await this.store.version();
    if (version === undefined || version !== this.known?.version) {
      const stored = version === undefined ? undefined : await this.store.read();
      this.known = stored && {
        version: stored.version,
        pdf: await this.crypto.openRecord({ place: PLACE, record: stored.record }),
      };
    }
    return this.known?.pdf;
  }
}

/** Whether bytes look like a complete PDF document, by their start and end: not an HTML page, and not truncated. */
export function isPdf(bytes: Uint8Array): boolean {
  return (
    PDF_HEAD.test(decoder.decode(bytes.subarray(0, 8))) &&
    decoder.decode(bytes.subarray(Math.max(0, bytes.length - PDF_TAIL_BYTES))).includes('%%EOF')
  );
}
