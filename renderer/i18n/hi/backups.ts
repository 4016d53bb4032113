import type { backups as source } from '../en/backups.ts';

export const backups: Readonly<Record<keyof typeof source, string>> = {
  'backups.title': 'बैकअप',
  'backups.what':
    'डेटाबेस की प्रतियाँ, लिखने के बाद हर एक जाँची हुई: जॉब, वर्कर, टोकन, ऑडिट रिकॉर्ड। ट्रेनिंग कॉन्फ़िग और यहाँ की सेटिंग इनके बाहर रहती हैं, और इनमें नहीं हैं।',
  'backups.hourly': 'पिछला प्रति घंटा बैकअप:',
  'backups.none': 'अभी कोई बैकअप नहीं है।',
  'backups.all': '{count, plural, one {इसे दिखाएँ} other {सभी # दिखाएँ}}',
  'backups.make': 'बैकअप बनाएँ',
  'backups.making': 'बैकअप बनाया और जाँचा जा रहा है…',
  'backups.made': 'बैकअप बन गया और जाँच लिया गया।',
  'backups.size': '{size, number} MB',
  'backups.kind.hourly': 'हर घंटे',
  'backups.kind.manual': 'मैन्युअल',
  'backups.kind.upgrade': 'अपग्रेड से पहले',
  'backups.kind.restore': 'बहाली से पहले',
  'backups.restore': 'बहाल करें…',
  'backups.restore.of': '{name} बहाल करें',
  'backups.restore.title': 'यह बैकअप बहाल करें?',
  'backups.restore.consequence':
    'ऑर्केस्ट्रेटर इस बैकअप की स्थिति में लौट जाएगा। जॉब, वर्कर और टोकन में बाद के बदलाव हट जाएँगे। ऑडिट रिकॉर्ड की सभी प्रविष्टियाँ बनी रहेंगी।',
  'backups.restore.asOf': 'इस समय की स्थिति:',
  'backups.restore.saved': 'पहले मौजूदा स्थिति बैकअप के रूप में सहेजी जाती है, ताकि बहाली वापस ली जा सके।',
  'backups.restore.workers':
    'वर्कर ट्रेनिंग जारी रखते हैं। जो जॉब बैकअप में नहीं है, वह उसके वर्कर के फिर जुड़ने पर रुक जाता है। बाद में जुड़े वर्करों को फिर से जुड़ना होगा।',
  'backups.restore.signIn':
    'सत्र और टोकन भी बहाल होते हैं: तब से रद्द किए गए टोकन फिर मान्य हो जाते हैं, और आपको फिर से साइन इन करना पड़ सकता है। एडमिन टोकन नहीं बदलता।',
  'backups.restore.type': 'पुष्टि के लिए इसका नाम लिखें:',
  'backups.restore.act': 'बैकअप बहाल करें',
  'backups.restoring':
    '{name} बहाल हो रहा है: मौजूदा स्थिति सहेजी जा रही है, और सर्वर थोड़ी देर रुकेगा। यह पेज अपने आप फिर जुड़ेगा।',
  'backups.restored': 'बहाल हो गया। पिछली स्थिति {saved} के रूप में सहेजी गई है।',
  'retention.title': 'ऑडिट रिकॉर्ड',
  'retention.all': 'सब कुछ रखा जाता है।',
  'retention.some': '{count, plural, one {# दिन रखा जाता है।} other {# दिन रखा जाता है।}}',
  'retention.days': 'कितने दिन रखें',
  'retention.hint': 'खाली छोड़ने पर सब कुछ रखा जाता है।',
  'retention.what':
    'पुरानी प्रविष्टियाँ दिन में कुछ बार हटाई जाती हैं। उनकी जगह एक मुहरबंद चिह्न रहता है, ताकि बाकी की जाँच हो सके; जो हटाया गया वह वापस नहीं आता, इसलिए ज़रूरत हो तो पहले निर्यात करें।',
};
