import type { backups as source } from '../en/backups.ts';

export const backups: Readonly<Record<keyof typeof source, string>> = {
  'backups.title': 'बैकअप',
  'backups.what':
    'डेटाबेस की प्रतियाँ, लिखने के बाद हर एक जाँची हुई: जॉब, वर्कर, टोकन, ऑडिट रिकॉर्ड। ट्रेनिंग कॉन्फ़िग और यहाँ की सेटिंग इनके बाहर रहती हैं, और इनमें नहीं हैं।',
  'backups.hourly': 'हर घंटे वाला पिछली बार बना:',
  'backups.none': 'अभी कोई नहीं है।',
  'backups.all': '{count, plural, one {इसे दिखाएँ} other {सभी # दिखाएँ}}',
  'backups.make': 'अभी एक बनाएँ',
  'backups.making': 'बैकअप बनाया और जाँचा जा रहा है…',
  'backups.made': 'बैकअप बन गया और जाँच लिया गया।',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': 'हर घंटे',
  'backups.kind.manual': 'माँगा गया',
  'backups.kind.upgrade': 'अपग्रेड से पहले',
  'backups.kind.restore': 'बहाली से पहले',
  'backups.restore': 'बहाल करें…',
  'backups.restore.of': '{name} बहाल करें',
  'backups.restore.title': 'यह बैकअप बहाल करें?',
  'backups.restore.consequence':
    'ऑर्केस्ट्रेटर उस समय की स्थिति में लौट जाएगा। तब से जो बदला है वह लागू नहीं रहेगा: जॉब, वर्कर, टोकन और ऑडिट रिकॉर्ड की प्रविष्टियाँ।',
  'backups.restore.asOf': 'जैसा था:',
  'backups.restore.saved': 'पहले अभी की स्थिति बैकअप के रूप में रखी जाती है, ताकि इसे वापस लिया जा सके।',
  'backups.restore.workers':
    'वर्कर ट्रेनिंग जारी रखते हैं। जिसे बैकअप नहीं जानता, वह अपने वर्कर के लौटने पर रोक दिया जाता है, और बाद में जुड़े वर्करों को फिर से जुड़ना होगा।',
  'backups.restore.signIn':
    'सत्र और टोकन बैकअप वाले होंगे: तब से रद्द किए गए टोकन फिर से चलेंगे, और आपको फिर से साइन इन करना पड़ सकता है। एडमिन टोकन वही रहता है।',
  'backups.restore.type': 'आगे बढ़ने के लिए इसका नाम लिखें:',
  'backups.restore.act': 'बहाल करें',
  'backups.restoring':
    '{name} बहाल हो रहा है: अभी की स्थिति रखी जा रही है, और सब कुछ थोड़ी देर रुकेगा। यह पेज अपने आप लौट आएगा।',
  'backups.restored': 'बहाल हो गया। अब तक की स्थिति {saved} के रूप में रखी है।',
  'retention.title': 'ऑडिट रिकॉर्ड',
  'retention.all': 'सब कुछ रखा जाता है।',
  'retention.some': '{count, plural, one {# दिन रखा जाता है।} other {# दिन रखा जाता है।}}',
  'retention.days': 'कितने दिन रखें',
  'retention.hint': 'खाली छोड़ने पर सब कुछ रखा जाता है।',
  'retention.what':
    'पुरानी प्रविष्टियाँ दिन में कुछ बार हटाई जाती हैं। उनकी जगह एक मुहरबंद चिह्न रहता है, ताकि बाकी की जाँच हो सके; जो हटाया गया वह वापस नहीं आता, इसलिए ज़रूरत हो तो पहले निर्यात करें।',
};
