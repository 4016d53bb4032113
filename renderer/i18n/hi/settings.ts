import type { settings as source } from '../en/settings.ts';

export const settings: Readonly<Record<keyof typeof source, string>> = {
  'settings.looks': 'यह ब्राउज़र',
  'settings.theme': 'थीम',
  'settings.theme.system': 'सिस्टम जैसी',
  'settings.theme.light': 'हल्की',
  'settings.theme.dark': 'गहरी',
  'settings.language': 'भाषा',
  'settings.zone': 'समय क्षेत्र',
  'settings.zone.local': 'इस मशीन का: {zone}',
  'settings.zone.utc': 'UTC',
  'settings.server': 'ऑर्केस्ट्रेटर',
  'settings.address': 'पता:',
  'settings.version': 'संस्करण:',
  'settings.network': 'नेटवर्क',
  'settings.network.private': 'ऑर्केस्ट्रेटर तक केवल यही मशीन पहुँचती है।',
  'settings.network.shared': 'दूसरी मशीनें ऑर्केस्ट्रेटर तक इन पतों पर पहुँचती हैं:',
  'settings.network.noAddress': 'इस समय किसी भी नेटवर्क पर इस मशीन का कोई पता नहीं है।',
  'settings.fixed': '{by} से तय है: इसे यहाँ बदलने के लिए सर्वर को उसके बिना शुरू करें।',
  'settings.note.virtual': '{name}: केवल इस मशीन के कंटेनर और वर्चुअल मशीनें',
  'settings.note.vpn': '{name}: निजी नेटवर्क (VPN)',
  'settings.note.loopback': '{name}: केवल यही मशीन',
  'settings.share': 'इस नेटवर्क पर साझा करें',
  'settings.share.title': 'इस नेटवर्क पर साझा करें?',
  'settings.share.what':
    'साझा करने पर इसी नेटवर्क की मशीनें इस पैनल तक पहुँचेंगी, और वर्कर के रूप में जुड़ सकेंगी। जो चल रहा है, उस पर कोई असर नहीं होता।',
  'settings.share.warning':
    'टोकन बिना एन्क्रिप्शन के जाते हैं: केवल भरोसे के नेटवर्क पर साझा करें। जो वहाँ सुन सकता है, वह उन्हें पढ़ सकता है।',
  'settings.share.signIn': 'जो ब्राउज़र दूसरा पता खोलता है, उसे वहाँ साइन इन करना होता है।',
  'settings.unshare': 'साझा करना बंद करें',
  'settings.unshare.title': 'साझा करना बंद करें?',
  'settings.unshare.consequence':
    'जो नेटवर्क से जुड़े हैं, उनका संपर्क तुरंत टूट जाता है। वहाँ के वर्कर ट्रेन करते रहते हैं, और दोबारा साझा होने तक चुप रहते हैं; वहाँ के ब्राउज़रों से यह पेज चला जाता है।',
  'settings.unshare.workers':
    '{count, plural, =0 {दूसरी मशीन का कोई वर्कर जुड़ा नहीं है।} one {दूसरी मशीन का # वर्कर जुड़ा है।} other {दूसरी मशीनों के # वर्कर जुड़े हैं।}}',
  'settings.tls': 'एन्क्रिप्शन (TLS)',
  'settings.tls.switch': 'दूसरी मशीनों से TLS में बात करें',
  'settings.tls.on':
    'दूसरी मशीनों से https में बात होती है। अपनी मशीन पर सादा http ही रहता है, जो उस मशीन से बाहर नहीं जाता।',
  'settings.tls.off': 'दूसरी मशीनों से सादे http में बात होती है।',
  'settings.tls.askOn': 'दूसरी मशीनों से TLS में बात करें?',
  'settings.tls.askOff': 'दूसरी मशीनों से बिना TLS के बात करें?',
  'settings.tls.turnOn': 'TLS चालू करें',
  'settings.tls.turnOff': 'TLS बंद करें',
  'settings.tls.consequence':
    'जो नेटवर्क से जुड़े हैं, उनका संपर्क तुरंत टूट जाता है। वहाँ के वर्कर ट्रेन करते रहते हैं, और नया पता मिलने तक चुप रहते हैं।',
  'settings.tls.anew':
    'हर वर्कर को जोड़ने की नई कमांड (वर्कर, नया टोकन) से दोबारा शुरू करें, और वहाँ यह पेज नए पते से खोलें।',
  'settings.tls.fingerprint': 'फ़िंगरप्रिंट (SHA-256)',
  'settings.tls.pin': 'पिन, वर्कर के लिए',
  'settings.tls.until': 'मान्य, इस समय तक',
  'settings.tls.names': 'इनके लिए बना',
  'settings.tls.own':
    'यह प्रमाणपत्र ऑर्केस्ट्रेटर ने खुद बनाया है, इसलिए ब्राउज़र पहली बार खोलने पर चेतावनी देते हैं: उनमें दिखे फ़िंगरप्रिंट को इससे मिलाएँ, और दोनों एक जैसे हों तभी आगे बढ़ें। यह अपने आप नया होता रहता है; पिन वही रहता है।',
  'settings.tls.files': 'प्रमाणपत्र उन फ़ाइलों से आता है जिनकी देखरेख कोई और करता है। बदलने पर वे दोबारा पढ़ी जाती हैं।',
  'settings.share.tls': 'उनसे TLS में बात करें (अनुशंसित)',
  'settings.publicUrl': 'सार्वजनिक पता, जोड़ने की कमांड के लिए',
  'settings.publicUrl.hint':
    'उन मशीनों के लिए जो इस सर्वर तक किसी और पते से पहुँचती हैं, जैसे प्रॉक्सी के पते से। खाली छोड़ने पर इस मशीन का पता लिया जाता है।',
  'settings.save': 'सहेजें',
  'settings.saved': 'सहेजा गया।',
  'settings.here': 'यह मशीन',
  'settings.here.off': 'सर्वर की अपनी मशीन कोई जॉब नहीं चलाती।',
  'settings.here.on': 'सर्वर की अपनी मशीन भी जॉब चलाती है।',
  'settings.here.leaving': 'यह अपनी जॉब पूरी करती है, और फिर कोई और नहीं चलाती।',
  'settings.here.turnOn': 'यहाँ जॉब चलाएँ',
  'settings.here.turnOff': 'यहाँ और जॉब न चलाएँ',
  'settings.here.onSays': 'सर्वर के साथ एक वर्कर शुरू होता है, और किसी भी दूसरे की तरह जॉब लेता है।',
  'settings.here.offSays':
    'बंद करने पर, चल रही ट्रेनिंग की जॉब पहले पूरी होती है। सर्वर के बंद होने पर ट्रेनिंग चलती रहती है, और अगली शुरुआत पर फिर सँभाली जाती है।',
  'settings.here.gpus': 'GPU',
  'settings.here.gpusHint': 'अल्पविराम से अलग किए गए नंबर। खाली छोड़ने पर सभी।',
  'settings.here.trainer': 'जॉब किससे चलती है',
  'settings.here.trainerHint':
    'खाली छोड़ने पर SimpleTuner; या कोई कमांड, जैसे “trainyard worker --trainer” के लिए।',
  'settings.here.trainerElsewhere':
    'यह सर्वर की मशीन पर चलने वाली कमांड है: इसे केवल उसी मशीन के ब्राउज़र में बदला जा सकता है।',
  'settings.here.restarts': 'सहेजने पर वर्कर नए सिरे से शुरू होता है; उसकी ट्रेनिंग चलती रहती है।',
  'settings.folders': 'फ़ोल्डर',
  'settings.folders.configs': 'ट्रेनिंग कॉन्फ़िग',
  'settings.folders.data': 'डेटा',
  'settings.copy': '{text} कॉपी करें',
};
