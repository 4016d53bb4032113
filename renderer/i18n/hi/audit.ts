import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': 'इवेंट',
  'audit.target': 'लक्ष्य',
  'audit.actor': 'कर्ता',
  'audit.at': 'समय',
  'audit.seq': 'क्र.',
  'audit.details': 'विवरण',
  'audit.count': '{count, plural, one {# प्रविष्टि} other {# प्रविष्टियाँ}}',
  'audit.none': 'अभी कोई प्रविष्टि नहीं है। जॉब, वर्कर और टोकन पर की गई कार्रवाइयाँ यहाँ दिखती हैं।',
  'audit.noMatch': 'कोई प्रविष्टि इन फ़िल्टर से मेल नहीं खाती। कर्ता और लक्ष्य का मिलान पूरा होना चाहिए।',
  'audit.more': 'पुरानी प्रविष्टियाँ दिखाएँ',
  'audit.verify': 'रिकॉर्ड जाँचें',
  'audit.verifying': 'पूरा ऑडिट रिकॉर्ड जाँचा जा रहा है',
  'audit.whole':
    '{count, plural, one {# प्रविष्टि जाँची गई, कोई बदलाव नहीं} other {# प्रविष्टियाँ जाँची गईं, कोई बदलाव नहीं}}',
  'audit.broken': 'प्रविष्टि {seq, number}: {problem}',
  'audit.anyType': 'सभी इवेंट',
  'audit.since': 'इस समय से',
  'audit.until': 'इस समय तक',
  'audit.export': 'JSON Lines के रूप में निर्यात करें',
  'audit.trimmed': '{seq, number} तक की प्रविष्टियाँ पुरानी होने के कारण हटा दी गईं।',
};
