import type { tokens as source } from '../en/tokens.ts';

export const tokens: Readonly<Record<keyof typeof source, string>> = {
  'tokens.title': 'टोकन',
  'tokens.what':
    'लोगों और स्क्रिप्ट के लिए, हर एक के पास केवल ज़रूरी अधिकार। डेटा फ़ोल्डर का एडमिन टोकन सब कुछ कर सकता है।',
  'tokens.add': 'टोकन जोड़ें',
  'tokens.new': 'नया टोकन',
  'tokens.name': 'किसके लिए',
  'tokens.may': 'क्या कर सकता है',
  'tokens.lasts': 'कब तक चलेगा',
  'tokens.days': '{count, plural, one {# दिन} other {# दिन}}',
  'tokens.never': 'कभी समाप्त नहीं होता',
  'tokens.expires': 'समाप्ति:',
  'tokens.used': 'पिछला उपयोग:',
  'tokens.create': 'टोकन बनाएँ',
  'tokens.made': '{name} का टोकन',
  'tokens.once': 'यह केवल एक बार दिखाया जाता है: अभी सहेज लें।',
  'tokens.copy': 'टोकन कॉपी करें',
  'tokens.revoke': 'रद्द करें',
  'tokens.revoked': '{name} रद्द किया गया।',
  'tokens.revoke.of': '{name} का टोकन रद्द करें',
  'tokens.revoke.title': '{name} का टोकन रद्द करें?',
  'tokens.revoke.consequence':
    'जो भी इसका उपयोग करता है, ब्राउज़र या स्क्रिप्ट में, तुरंत बाहर हो जाएगा। इसे वापस नहीं लिया जा सकता।',
  'tokens.may.queue.view': 'कतार देखना',
  'tokens.may.queue.submit': 'जॉब जमा करना',
  'tokens.may.queue.cancel': 'जॉब रद्द करना',
  'tokens.may.queue.manage': 'कतार सँभालना',
  'tokens.may.admin.workers': 'वर्कर सँभालना',
  'tokens.may.admin.audit': 'ऑडिट रिकॉर्ड पढ़ना',
  'tokens.may.admin.tokens': 'टोकन सँभालना',
};
