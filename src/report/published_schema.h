// For the tests of traces: the schemas as other programs publish them (testdata/perfetto,
// testdata/tensorboard), which know nothing of report/'s own.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

#include <cstddef>
#include <memory>
#include <string>

namespace interlude {

class PublishedSchema {
 public:
  /// "perfetto" or "tensorboard".
  explicit PublishedSchema(const std::string& name);

  const google::protobuf::Descriptor& Message(const std::string& name) const;
  /// An empty one.
  std::unique_ptr<google::protobuf::Message> New(const std::string& name);

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
};

/// Fails the test unless each field of `own`, and of the messages in it, has the name, type and
/// label that its number has in `published`.
void ExpectSameFields(const google::protobuf::Descriptor& own,
                      const google::protobuf::Descriptor& published);

/// In the message and in the messages in it.
size_t UnknownFields(const google::protobuf::Message& message);

}  // namespace interlude
