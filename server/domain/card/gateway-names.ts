/** Names of verification codes, tracks and PIN data that are not made of usual words, each with a public page that has it. */

export interface PublishedNames {
  readonly source: string;
  /** As the source writes them, with spaces between. */
  readonly names: string;
}

const ACTIVE_MERCHANT =
  'https://github.com/activemerchant/active_merchant/blob/HEAD/lib/active_merchant/billing/gateways';
const CYBERSOURCE =
  'https://developer.cybersource.com/docs/cybs/en-us/api-fields/reference/all/so/api-fields';

/** Verification codes. */
export const PUBLISHED_CODES: readonly PublishedNames[] = [
  { source: `${CYBERSOURCE}/card-cv-number.html`, names: 'cvNumber card_cvNumber customer_cc_cv_number' },
  {
    source:
      'https://developer.elavon.com/na/docs/converge/1.0.0/integration-guide/api_reference/supported_transaction_input_fields',
    names: 'ssl_cvv2cvc2',
  },
  { source: `${ACTIVE_MERCHANT}/orbital.rb`, names: 'CardSecVal' },
  { source: `${ACTIVE_MERCHANT}/litle.rb`, names: 'cardValidationNum' },
  { source: `${ACTIVE_MERCHANT}/linkpoint.rb`, names: 'cvmvalue' },
  {
    source: 'https://support.payeezy.com/hc/en-us/articles/206601408',
    names: 'CVDCode CVD_Code VerificationStr2',
  },
  {
    source:
      'https://vdocuments.us/connect-first-data-using-your-own-forms-to-capture-the-data-11-61-payonly.html',
    names: 'CardCodeValue',
  },
  { source: 'https://help.na.bambora.com/hc/en-us/articles/115015611287-Mandatory-CVD', names: 'trnCardCvd' },
  { source: 'https://www.hostedpci.com/gateways/bambora/', names: 'cardCodeVerification' },
  { source: 'https://docs.spreedly.com/reference/api/v1/', names: 'verification_value' },
  { source: 'https://docs.payu.in/reference/merchant-hosted-checkout', names: 'ccvv' },
  { source: 'https://www.iso20022.org/iso-20022-message-definitions?search=caaa', names: 'CSCVal' },
];

/**
 * Verification codes under names that are also used for something else: an OTA `CardCode` is a network. They count for a
 * value of three or four digits.
 */
export const PUBLISHED_CODES_OR_OTHERS: readonly PublishedNames[] = [
  {
    source: 'https://developer.authorize.net/api/reference/index.html',
    names: 'cardCode x_card_code',
  },
  {
    source: 'https://developers.booking.com/connectivity/docs/api-reference/paymentcard',
    names: 'SeriesCode',
  },
  { source: 'http://developer.ean.com/docs', names: 'creditCardIdentifier' },
  { source: 'https://readkong.com/page/connect-integration-guide-telecash-5190657', names: 'cvm' },
  { source: 'https://developercielo.github.io/Webservice-1.5/', names: 'codigo-seguranca' },
];

/** Tracks. */
export const PUBLISHED_TRACKS: readonly PublishedNames[] = [
  { source: `${CYBERSOURCE}/pos-track-data.html`, names: 'track_data pos_trackData' },
  { source: 'https://help.usaepay.info/developer/transaction-api/', names: 'UMmagstripe' },
  {
    source:
      'https://raw.githubusercontent.com/api-evangelist/adyen/refs/heads/main/json-structure/terminal-sensitive-card-data-structure.json',
    names: 'TrackData TrackValue',
  },
  { source: 'https://www.iso20022.org/iso-20022-message-definitions?search=caaa', names: 'TrckVal' },
];

/** Tracks under names that are also used for something else. They count for a value with a digit. */
export const PUBLISHED_TRACKS_OR_OTHERS: readonly PublishedNames[] = [
  { source: `${ACTIVE_MERCHANT}/litle.rb`, names: 'track' },
  {
    source: 'https://paypal.manymanuals.pl/gateways-controllers/gateway-2013/users-guide-16914/83',
    names: 'SWIPE',
  },
];

/** PINs, parts of a PIN, and encrypted PINs. */
export const PUBLISHED_PINS: readonly PublishedNames[] = [
  {
    source: `${CYBERSOURCE}/pin-data-encrypted-pin.html`,
    names: 'pinDataEncryptedPIN pin_data_encrypted_pin',
  },
  { source: `${CYBERSOURCE}/card-pass-phrase.html`, names: 'card_passPhrase' },
  {
    source: 'https://developer.worldpay.com/products/card-payments/features/tosspay',
    names: 'firstTwoOfPin',
  },
  { source: 'https://pypi.org/project/python-tosspayments/', names: 'cardPassword' },
  {
    source:
      'https://raw.githubusercontent.com/api-evangelist/adyen/refs/heads/main/json-structure/terminal-card-holder-pin-structure.json',
    names: 'EncrPINBlock',
  },
  { source: 'https://www.iso20022.org/iso-20022-message-definitions?search=caaa', names: 'NcrptdPINBlck' },
  {
    source: 'https://developer.apple.com/documentation/passkit/payment-token-format-reference',
    names: 'encryptedPINData',
  },
];
