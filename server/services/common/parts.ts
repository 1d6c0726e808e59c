import type { Crypto } from '../../crypto/client.ts';
import type { ThirdParties } from '../../outbound/third-parties.ts';
import type { AccountStore } from '../../store/account.ts';
import type { ComplianceStore } from '../../store/admin.ts';
import type { AuditStore } from '../../store/audit.ts';
import type { BinStore } from '../../store/bin.ts';
import type { CertStore } from '../../store/cert.ts';
import type { EndpointStore } from '../../store/endpoint.ts';
import type { FormStore } from '../../store/form.ts';
import type { IdempotencyStore } from '../../store/idempotency.ts';
import type { ItemStore } from '../../store/item.ts';
import type { JobStore } from '../../store/job.ts';
import type { KeyStore } from '../../store/key.ts';
import type { CensusStore } from '../../store/maintenance/census.ts';
import type { RecordStore } from '../../store/maintenance/record.ts';
import type { SurveyStore } from '../../store/maintenance/survey.ts';
import type { RateStore } from '../../store/rate.ts';
import type { RuleStore } from '../../store/rule.ts';
import type { Observer } from '../../telemetry/observer.ts';
import type { ServiceSettings } from './settings.ts';

/** What the services are built from. Time and randomness come from here, so that tests can be exact. */
export interface Parts {
  readonly crypto: Crypto;
  readonly accountStore: AccountStore;
  readonly keyStore: KeyStore;
  readonly itemStore: ItemStore;
  readonly endpointStore: EndpointStore;
  readonly ruleStore: RuleStore;
  readonly formStore: FormStore;
  readonly certStore: CertStore;
  readonly idempotencyStore: IdempotencyStore;
  readonly recordStore: RecordStore;
  readonly surveyStore: SurveyStore;
  readonly censusStore: CensusStore;
  readonly binStore: BinStore;
  readonly complianceStore: ComplianceStore;
  readonly jobStore: JobStore;
  readonly rateStore: RateStore;
  readonly auditStore: AuditStore;
  readonly thirdParties: ThirdParties;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** 128 random bits in URL-safe characters. */
  readonly randomId: () => string;
  /** An even chance from 0 up to, not including, 1: what spreads things in time. */
  readonly chance: () => number;
  /** Names of the master keys: the one that writes, and all that read. */
  readonly masterKeys: { readonly writeId: string; readonly ids: readonly string[] };
  /** Authenticates cursors; the same on every server of the vault. */
  readonly cursorKey: Uint8Array;
  /** Is told of the work while it is done, for metrics and traces. */
  readonly observer: Observer;
  readonly settings: ServiceSettings;
}
